# Reads a watch as Python programs without a Kubernetes client do, and prints
# its content encoding and then its events, in lines as they come.
#
#   python3 watch.py urllib3|requests URL TOKEN CA [ACCEPT-ENCODING]
#
# requests accepts gzip by itself, urllib3 does not.

import json
import sys

by, url, token, ca = sys.argv[1:5]
headers = {"Authorization": "Bearer " + token}
if len(sys.argv) > 5:
    headers["Accept-Encoding"] = sys.argv[5]

if by == "requests":
    import requests

    answer = requests.get(url, headers=headers, verify=ca, stream=True)
    pieces = answer.iter_content(None)
else:
    import urllib3

    answer = urllib3.PoolManager(ca_certs=ca).request("GET", url, headers=headers, preload_content=False)
    pieces = answer.stream(None, decode_content=True)  # it would not be decoded by default

print(answer.headers.get("Content-Encoding", "identity"), flush=True)
rest = b""
for piece in pieces:
    *lines, rest = (rest + piece).split(b"\n")
    for line in lines:
        json.loads(line)
        print(line.decode(), flush=True)
