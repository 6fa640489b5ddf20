/**
 * The subject that refusals are compared with: a plain node:http server that sends the status, headers and bytes of the
 * gateway's refusal.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'

const ID = '0'.repeat(21)
const BODY = Buffer.from(
  JSON.stringify({ error: { code: '', message: `无效的令牌 (request id: ${ID})`, type: 'gateway_api_error' } }),
)
const HEADERS = [
  ['content-type', 'application/json; charset=utf-8'],
  ['content-length', String(BODY.length)],
  ['x-request-id', ID],
  ['request-id', ID],
  ['x-should-retry', 'false'],
].flat()

const server = http.createServer({ keepAliveTimeout: 125_000 }, (_, res) => {
  res.writeHead(401, HEADERS).end(BODY)
})
server.listen(0, '127.0.0.1', 4096, () =>
  console.log(JSON.stringify({ ready: true, port: (server.address() as AddressInfo).port })),
)
