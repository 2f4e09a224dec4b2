// Runs two informers of ConfigMaps, all and those of a label, and prints in a line of JSON what one has whenever it
// changes. It goes on until its input ends.
//
//   node main.js KUBECONFIG NAMESPACE

import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node';

const [kubeconfig, namespace] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(CoreV1Api);

// summary is what of objects is compared.
const summary = (objects) =>
  Object.fromEntries(objects.map((o) => [o.metadata.name, { version: o.metadata.resourceVersion, data: o.data ?? {} }]));

for (const selector of ['', 'app=x']) {
  const labelSelector = selector || undefined;
  const read = () => core.listNamespacedConfigMap({ namespace, labelSelector });
  const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, read, labelSelector);
  const start = () => informer.start().catch((error) => console.log(String(error)));
  for (const event of ['add', 'update', 'delete']) {
    informer.on(event, () => console.log(JSON.stringify({ selector, state: summary(informer.list()) })));
  }
  informer.on('error', () => setTimeout(start, 100)); // what breaks a watch is soon over here
  start();
}

process.stdin.resume().on('end', () => process.exit(0));
