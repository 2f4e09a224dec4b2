# Follows resources with the Python client. For each line of its input it
# prints the objects that it has, in one line, as soon as it has listed each
# resource. It ends with its input.
#
#   python3 main.py KUBECONFIG

import json
import os
import sys
import threading
import time

from kubernetes import client, config, watch

config.load_kube_config(sys.argv[1])
core, apps = client.CoreV1Api(), client.AppsV1Api()
plain = client.ApiClient().sanitize_for_serialization


def text(o):
    """Objects of a list have no kind, those of a watch have one."""
    o.kind = o.api_version = None
    return json.dumps(plain(o), sort_keys=True)


def follow(read, objects):
    """Lists, and watches from there, until the version is too old. The
    states are replaced whole, so that a reader sees one of them."""
    while True:
        try:
            listed = read()
            state = {o.metadata.uid: text(o) for o in listed.items}
            objects[read] = state
            version = listed.metadata.resource_version
            for event in watch.Watch().stream(read, resource_version=version, allow_watch_bookmarks=True):
                if event["type"] == "BOOKMARK":
                    continue
                state = dict(state)
                if event["type"] == "DELETED":
                    state.pop(event["object"].metadata.uid, None)
                else:
                    state[event["object"].metadata.uid] = text(event["object"])
                objects[read] = state
        except client.ApiException as error:
            print(error, file=sys.stderr)


objects = {}
reads = [
    core.list_pod_for_all_namespaces,
    core.list_node,
    core.list_service_for_all_namespaces,
    core.list_config_map_for_all_namespaces,
    apps.list_deployment_for_all_namespaces,
]
for read in reads:
    threading.Thread(target=follow, args=(read, objects), daemon=True).start()

for _ in sys.stdin:
    while len(objects) < len(reads):
        time.sleep(0.02)
    lines = [line for state in list(objects.values()) for line in state.values()]
    print("\t".join(sorted(lines)), flush=True)
os._exit(0)
