package table

import (
	apiserverinternal "k8s.io/api/apiserverinternal/v1alpha1"
	apps "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	certificates "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordination "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	flowcontrol "k8s.io/api/flowcontrol/v1"
	lifecycle "k8s.io/api/lifecycle/v1alpha1"
	networking "k8s.io/api/networking/v1"
	rbac "k8s.io/api/rbac/v1beta1"
	resource "k8s.io/api/resource/v1"
	scheduling "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storage "k8s.io/api/storage/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fieldDocs are the descriptions of a type's fields by JSON name. The apiserver describes a column
// that prints a field with the description of the field, in the API version used here.
type fieldDocs map[string]string

var (
	metaDoc = fieldDocs(meta.ObjectMeta{}.SwaggerDoc())

	compositeGroupSpecDoc = fieldDocs(schedulingv1alpha3.CompositePodGroupSpec{}.SwaggerDoc())
	crbDoc                = fieldDocs(rbac.ClusterRoleBinding{}.SwaggerDoc())
	configMapDoc          = fieldDocs(core.ConfigMap{}.SwaggerDoc())
	controllerRevisionDoc = fieldDocs(apps.ControllerRevision{}.SwaggerDoc())
	cronJobSpecDoc        = fieldDocs(batch.CronJobSpec{}.SwaggerDoc())
	cronJobStatusDoc      = fieldDocs(batch.CronJobStatus{}.SwaggerDoc())
	csiDriverSpecDoc      = fieldDocs(storage.CSIDriverSpec{}.SwaggerDoc())
	csrSpecDoc            = fieldDocs(certificatesv1beta1.CertificateSigningRequestSpec{}.SwaggerDoc())
	csrStatusDoc          = fieldDocs(certificatesv1beta1.CertificateSigningRequestStatus{}.SwaggerDoc())
	daemonSetSpecDoc      = fieldDocs(apps.DaemonSetSpec{}.SwaggerDoc())
	daemonSetStatusDoc    = fieldDocs(apps.DaemonSetStatus{}.SwaggerDoc())
	deploymentSpecDoc     = fieldDocs(apps.DeploymentSpec{}.SwaggerDoc())
	deploymentStatusDoc   = fieldDocs(apps.DeploymentStatus{}.SwaggerDoc())
	deviceTaintDoc        = fieldDocs(resource.DeviceTaint{}.SwaggerDoc())
	//lint:ignore SA1019 the apiserver still serves and prints Endpoints
	endpointsDoc              = fieldDocs(core.Endpoints{}.SwaggerDoc())
	endpointSliceDoc          = fieldDocs(discovery.EndpointSlice{}.SwaggerDoc())
	eventDoc                  = fieldDocs(core.Event{}.SwaggerDoc())
	evictionRequestSpecDoc    = fieldDocs(lifecycle.EvictionRequestSpec{}.SwaggerDoc())
	evictionRequestStatusDoc  = fieldDocs(lifecycle.EvictionRequestStatus{}.SwaggerDoc())
	flowSchemaSpecDoc         = fieldDocs(flowcontrol.FlowSchemaSpec{}.SwaggerDoc())
	hpaSpecDoc                = fieldDocs(autoscalingv2.HorizontalPodAutoscalerSpec{}.SwaggerDoc())
	hpaStatusDoc              = fieldDocs(autoscalingv2.HorizontalPodAutoscalerStatus{}.SwaggerDoc())
	ipAddressSpecDoc          = fieldDocs(networking.IPAddressSpec{}.SwaggerDoc())
	jobSpecDoc                = fieldDocs(batch.JobSpec{}.SwaggerDoc())
	jobStatusDoc              = fieldDocs(batch.JobStatus{}.SwaggerDoc())
	leaseCandidateSpecDoc     = fieldDocs(coordinationv1alpha2.LeaseCandidateSpec{}.SwaggerDoc())
	leaseSpecDoc              = fieldDocs(coordination.LeaseSpec{}.SwaggerDoc())
	limitedPriorityDoc        = fieldDocs(flowcontrol.LimitedPriorityLevelConfiguration{}.SwaggerDoc())
	networkPolicySpecDoc      = fieldDocs(networking.NetworkPolicySpec{}.SwaggerDoc())
	nodeStatusDoc             = fieldDocs(core.NodeStatus{}.SwaggerDoc())
	nodeSystemInfoDoc         = fieldDocs(core.NodeSystemInfo{}.SwaggerDoc())
	objectReferenceDoc        = fieldDocs(core.ObjectReference{}.SwaggerDoc())
	pvcSpecDoc                = fieldDocs(core.PersistentVolumeClaimSpec{}.SwaggerDoc())
	pvcStatusDoc              = fieldDocs(core.PersistentVolumeClaimStatus{}.SwaggerDoc())
	pvSpecDoc                 = fieldDocs(core.PersistentVolumeSpec{}.SwaggerDoc())
	pvStatusDoc               = fieldDocs(core.PersistentVolumeStatus{}.SwaggerDoc())
	podCertificateSpecDoc     = fieldDocs(certificates.PodCertificateRequestSpec{}.SwaggerDoc())
	podCertificateBetaSpecDoc = fieldDocs(certificatesv1beta1.PodCertificateRequestSpec{}.SwaggerDoc())
	podGroupSpecDoc           = fieldDocs(schedulingv1beta1.PodGroupSpec{}.SwaggerDoc())
	podSpecDoc                = fieldDocs(core.PodSpec{}.SwaggerDoc())
	podStatusDoc              = fieldDocs(core.PodStatus{}.SwaggerDoc())
	priorityClassDoc          = fieldDocs(scheduling.PriorityClass{}.SwaggerDoc())
	priorityReferenceDoc      = fieldDocs(flowcontrol.PriorityLevelConfigurationReference{}.SwaggerDoc())
	prioritySpecDoc           = fieldDocs(flowcontrol.PriorityLevelConfigurationSpec{}.SwaggerDoc())
	queuingDoc                = fieldDocs(flowcontrol.QueuingConfiguration{}.SwaggerDoc())
	replicaSetSpecDoc         = fieldDocs(apps.ReplicaSetSpec{}.SwaggerDoc())
	replicaSetStatusDoc       = fieldDocs(apps.ReplicaSetStatus{}.SwaggerDoc())
	replicationSpecDoc        = fieldDocs(core.ReplicationControllerSpec{}.SwaggerDoc())
	replicationStatusDoc      = fieldDocs(core.ReplicationControllerStatus{}.SwaggerDoc())
	resourcePoolDoc           = fieldDocs(resource.ResourcePool{}.SwaggerDoc())
	resourceSliceSpecDoc      = fieldDocs(resource.ResourceSliceSpec{}.SwaggerDoc())
	roleBindingDoc            = fieldDocs(rbac.RoleBinding{}.SwaggerDoc())
	secretDoc                 = fieldDocs(core.Secret{}.SwaggerDoc())
	serviceCIDRSpecDoc        = fieldDocs(networking.ServiceCIDRSpec{}.SwaggerDoc())
	serviceSpecDoc            = fieldDocs(core.ServiceSpec{}.SwaggerDoc())
	storageClassDoc           = fieldDocs(storage.StorageClass{}.SwaggerDoc())
	storageVersionStatusDoc   = fieldDocs(apiserverinternal.StorageVersionStatus{}.SwaggerDoc())
	trustBundleSpecDoc        = fieldDocs(certificates.ClusterTrustBundleSpec{}.SwaggerDoc())
	trustBundleBetaSpecDoc    = fieldDocs(certificatesv1beta1.ClusterTrustBundleSpec{}.SwaggerDoc())
	volumeAttachmentSourceDoc = fieldDocs(storage.VolumeAttachmentSource{}.SwaggerDoc())
	volumeAttachmentSpecDoc   = fieldDocs(storage.VolumeAttachmentSpec{}.SwaggerDoc())
	volumeAttachmentStatusDoc = fieldDocs(storage.VolumeAttachmentStatus{}.SwaggerDoc())
	volumeAttributesDoc       = fieldDocs(storage.VolumeAttributesClass{}.SwaggerDoc())
)
