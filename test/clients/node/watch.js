// Reads a watch as programs without a client library do, and prints its content encoding and then its
// events, in lines as they come.
//
//   node watch.js fetch|https URL TOKEN CA [ACCEPT-ENCODING]
//
// fetch takes the CA from NODE_EXTRA_CA_CERTS, and accepts gzip by itself.

import { readFileSync } from 'node:fs';
import { get } from 'node:https';
import { createGunzip } from 'node:zlib';

const [by, url, token, ca, encoding] = process.argv.slice(2);
const headers = { authorization: `Bearer ${token}`, ...(encoding && { 'accept-encoding': encoding }) };

async function open() {
  if (by === 'fetch') {
    const answer = await fetch(url, { headers });
    return [answer.headers.get('content-encoding'), answer.body];
  }
  const answer = await new Promise((resolve) => get(url, { headers, ca: readFileSync(ca) }, resolve));
  const coding = answer.headers['content-encoding'];
  return [coding, coding === 'gzip' ? answer.pipe(createGunzip()) : answer];
}

const [coding, body] = await open();
console.log(coding ?? 'identity');
const text = new TextDecoder();
let rest = '';
for await (const piece of body) {
  const lines = (rest + text.decode(piece, { stream: true })).split('\n');
  rest = lines.pop();
  for (const line of lines) {
    JSON.parse(line);
    console.log(line);
  }
}
