// Reads ConfigMaps as JavaScript programs do, and prints in lines of JSON what
// it gets. It goes on until its input ends.
//
//   node main.js KUBECONFIG NAMESPACE

import { CoreV1Api, KubeConfig, Watch, makeInformer } from '@kubernetes/client-node';

const [kubeconfig, namespace] = process.argv.slice(2);
const path = `/api/v1/namespaces/${namespace}/configmaps`;
const labelSelector = 'app=x';
const retryAfter = 100; // ms; what breaks a watch is soon over here

const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(CoreV1Api);

const print = (line) => console.log(JSON.stringify(line));

// summary is what of objects is compared.
const summary = (objects) =>
  Object.fromEntries(objects.map((o) => [o.metadata.name, { version: o.metadata.resourceVersion, data: o.data ?? {} }]));

async function list(what, options) {
  const answer = await core.listNamespacedConfigMap({ namespace, ...options });
  print({ what, state: summary(answer.items) });
  return answer.metadata.resourceVersion;
}

async function fail(what, request) {
  try {
    await request();
    print({ what, error: { code: 200 } });
  } catch (error) {
    print({ what, error: { code: error.code, reason: JSON.parse(error.body).reason } });
  }
}

// inform prints an informer's whole state whenever it changes.
async function inform(what, selector) {
  const read = () => core.listNamespacedConfigMap({ namespace, labelSelector: selector });
  const informer = makeInformer(config, path, read, selector);
  const start = () => informer.start().catch((error) => print({ what, failed: String(error) }));
  for (const event of ['add', 'update', 'delete']) {
    informer.on(event, (o) => print({ what, event: `${event} ${o.metadata.name}`, state: summary(informer.list()) }));
  }
  informer.on('error', () => setTimeout(start, retryAfter));
  await start();
}

process.stdin.resume().on('end', () => process.exit(0));

const version = await list('list');
await list('list of any version', { resourceVersion: '0' });
await list('list by label', { labelSelector });
await list('list by field', { fieldSelector: 'metadata.name=first' });
await list('page', { limit: 1 });
await fail('missing', () => core.readNamespacedConfigMap({ namespace, name: 'missing' }));
await fail('bad selector', () => core.listNamespacedConfigMap({ namespace, labelSelector: 'a=b=c', resourceVersion: '0' }));
await new Watch(config).watch(
  path,
  { resourceVersion: version, allowWatchBookmarks: true },
  (type, o) => type === 'BOOKMARK' || print({ what: 'watch', event: `${type} ${o.metadata.name}` }),
  () => {},
);
await inform('informer', undefined);
await inform('informer by label', labelSelector);
print({ what: 'ready' });
