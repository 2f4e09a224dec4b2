# Reads ConfigMaps as Python programs do, and prints the names in a list and
# the events of a watch. Older releases of the client take the proxy neither
# from the kubeconfig nor from the environment.
#
#   python3 main.py KUBECONFIG NAMESPACE PROXY

import sys

from kubernetes import client, config, watch

kubeconfig, namespace, proxy = sys.argv[1:4]
configuration = client.Configuration()
config.load_kube_config(kubeconfig, client_configuration=configuration)
configuration.proxy = proxy
client.Configuration.set_default(configuration)
core = client.CoreV1Api()

listed = core.list_namespaced_config_map(namespace)
print("list", *sorted(item.metadata.name for item in listed.items), flush=True)

events = watch.Watch()
for event in events.stream(core.list_namespaced_config_map, namespace, resource_version=listed.metadata.resource_version):
    print(event["type"], event["object"].metadata.name, flush=True)
    if event["type"] == "DELETED":
        events.stop()

try:
    core.read_namespaced_config_map("missing", namespace)
except client.ApiException as error:
    print("error", error.status, flush=True)
