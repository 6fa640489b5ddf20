/**
 * The bare relay, with which every figure is compared: node:http on one side, undici's dispatch on the other, no work
 * in between.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Dispatcher, Pool } from 'undici'

const pool = new Pool(process.env['UPSTREAM'] as string, {
  connections: 16_384,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
})

class Relay implements Dispatcher.DispatchHandler {
  readonly res: http.ServerResponse

  constructor(res: http.ServerResponse) {
    this.res = res
  }

  onRequestStart(): void {}

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: http.IncomingHttpHeaders): void {
    const own = ['content-type', headers['content-type'] as string]
    if (headers['content-length'] !== undefined) own.push('content-length', headers['content-length'])
    this.res.writeHead(status, own)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.res.write(chunk)) {
      controller.pause()
      this.res.once('drain', () => controller.resume())
    }
  }

  onResponseEnd(): void {
    this.res.end()
  }

  onResponseError(): void {
    this.res.destroy()
  }
}

const server = http.createServer({ keepAliveTimeout: 125_000 }, (req, res) => {
  const path = req.url as string
  const length = Number(req.headers['content-length'] ?? 0)
  const headers = [
    'content-type',
    'application/json',
    'authorization',
    'Bearer upstream',
    'accept-encoding',
    'identity',
  ]
  if (length > 65_536) {
    headers.push('content-length', String(length))
    pool.dispatch({ method: 'POST', path, headers, body: req }, new Relay(res))
    return
  }
  const parts: Buffer[] = []
  req.on('data', (chunk: Buffer) => parts.push(chunk))
  req.on('end', () => {
    const body = parts.length === 1 ? parts[0] : Buffer.concat(parts)
    pool.dispatch({ method: 'POST', path, headers, body: body as Buffer }, new Relay(res))
  })
})
server.listen(0, '127.0.0.1', 4096, () =>
  console.log(JSON.stringify({ ready: true, port: (server.address() as AddressInfo).port })),
)
