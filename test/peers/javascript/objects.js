// Runs informers of the JavaScript client. For each line of its input it prints the objects that they have, in one line.
// It ends with its input.
//
//   node objects.js KUBECONFIG

import { createInterface } from 'node:readline';
import { AppsV1Api, CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node';

const config = new KubeConfig();
config.loadFromFile(process.argv[2]);
const core = config.makeApiClient(CoreV1Api);
const apps = config.makeApiClient(AppsV1Api);

const informers = [
  ['/api/v1/pods', () => core.listPodForAllNamespaces()],
  ['/api/v1/nodes', () => core.listNode()],
  ['/api/v1/services', () => core.listServiceForAllNamespaces()],
  ['/api/v1/configmaps', () => core.listConfigMapForAllNamespaces()],
  ['/apis/apps/v1/deployments', () => apps.listDeploymentForAllNamespaces()],
].map(([path, list]) => {
  const informer = makeInformer(config, path, list);
  const start = () => informer.start().catch(() => setTimeout(start, 100));
  informer.on('error', () => setTimeout(start, 100));
  start();
  return [path, informer];
});

// canonical is the same for objects of a list, which the client has parsed, and of a watch, which it has not.
function canonical(object) {
  const { kind, apiVersion, ...rest } = object;
  const sorted = (_, value) => (value?.constructor === Object ? Object.fromEntries(Object.entries(value).sort()) : value);
  return JSON.stringify(JSON.parse(JSON.stringify(rest)), sorted).replaceAll('.000Z"', 'Z"');
}

createInterface({ input: process.stdin })
  .on('line', () => {
    const lines = informers.flatMap(([path, informer]) => informer.list().map((object) => path + canonical(object)));
    console.log(lines.sort().join('\t'));
  })
  .on('close', () => process.exit(0));
