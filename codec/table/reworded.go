package table

import (
	"slices"

	certificates "k8s.io/api/certificates/v1"
	beta "k8s.io/api/certificates/v1beta1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	networking "k8s.io/api/networking/v1"
	rbac "k8s.io/api/rbac/v1beta1"
	resource "k8s.io/api/resource/v1"
	storage "k8s.io/api/storage/v1"

	"sluice/codec/json"
)

type (
	bundle         = certificates.ClusterTrustBundleSpec
	podCertificate = certificates.PodCertificateRequestSpec
)

// formerly has the descriptions that releases from 1.34 on gave to a field before its present one. A
// description that is not known is evidence of a release that prints cells in an unknown way.
var formerly = map[string][]string{
	docOf[rbac.ClusterRoleBinding]("roleRef"): {
		"RoleRef can only reference a ClusterRole in the global namespace. " +
			"If the RoleRef cannot be resolved, the Authorizer must return an error.",
	},
	docOf[networking.IPAddressSpec]("parentRef"): {
		"ParentRef references the resource that an IPAddress is attached to. An IPAddress must reference a parent object.",
	},
	docOf[coordinationv1alpha2.LeaseCandidateSpec]("leaseName"): {
		"LeaseName is the name of the lease for which this candidate is contending. This field is immutable.",
	},
	docOf[resource.ResourcePool]("name"): {
		"Name is used to identify the pool. For node-local devices, this is often the node name, but this is not required.\n\n" +
			"It must not be longer than 253 characters and must consist of one or more DNS sub-domains separated by slashes. " +
			"This field is immutable.",
	},
	docOf[resource.ResourceSliceSpec]("driver"): {
		"Driver identifies the DRA driver providing the capacity information. A field selector can be used to list only " +
			"ResourceSlice objects with a certain driver name.\n\n" +
			"Must be a DNS subdomain and should end with a DNS domain owned by the vendor of the driver. This field is immutable.",
	},
	docOf[rbac.RoleBinding]("roleRef"): {
		"RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. " +
			"If the RoleRef cannot be resolved, the Authorizer must return an error.",
	},
	docOf[networking.ServiceCIDRSpec]("cidrs"): {
		"CIDRs defines the IP blocks in CIDR notation (e.g. \"192.168.0.0/24\" or \"2001:db8::/64\") " +
			"from which to assign service cluster IPs. " +
			"Max of two CIDRs is allowed, one of each IP family. This field is immutable.",
	},
	docOf[bundle]("signerName"):                        {docOf[beta.ClusterTrustBundleSpec]("signerName")},
	docOf[podCertificate]("nodeName"):                  {docOf[beta.PodCertificateRequestSpec]("nodeName")},
	docOf[podCertificate]("podName"):                   {docOf[beta.PodCertificateRequestSpec]("podName")},
	docOf[podCertificate]("serviceAccountName"):        {docOf[beta.PodCertificateRequestSpec]("serviceAccountName")},
	docOf[podCertificate]("signerName"):                {docOf[beta.PodCertificateRequestSpec]("signerName")},
	docOf[podCertificate]("unverifiedUserAnnotations"): {docOf[beta.PodCertificateRequestSpec]("unverifiedUserAnnotations")},
	docOf[storage.VolumeAttributesClass]("driverName"): {"Name of the CSI driver This field is immutable."},
}

// reworded returns the columns with the descriptions of served definitions, as far as they are known.
func (c *Columns) reworded(served json.Value) *Columns {
	columns := slices.Clone(c.columns)
	i := 0
	for _, definition := range served.Elements {
		for i < len(columns) && columns[i].hidden {
			i++
		}
		if i == len(columns) {
			break
		}
		if doc, _ := definition.Get("description").Text(); slices.Contains(formerly[columns[i].doc], doc) {
			columns[i].doc = doc
		}
		i++
	}
	return newColumns(columns...).with(c.rules)
}
