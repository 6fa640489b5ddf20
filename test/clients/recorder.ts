/** Stands in front of the simulator, or of the gateway, and notes what is asked. */
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { http } from '../../lib/base/http.ts'
import { type Asked, jsonOf } from './tool.ts'

export interface Recorder {
  url: string
  /** The address that everything is passed on to. */
  target: string
  /** All requests, in order. */
  all: readonly Asked[]
  /** Those for a model. */
  of(model: string): Asked[]
  close(): void
}

/** Longer than any run: a connection that closes while it is asked would be an upstream's failure. */
const KEEP_ALIVE_MS = 600_000
const PATH_MODEL = /\/models\/([^/:]+):/

export async function startRecorder(target = ''): Promise<Recorder> {
  const asked: { model: string; one: Asked }[] = []
  const all: Asked[] = []
  const server = http.createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      const bytes = Buffer.concat(parts)
      const path = req.url ?? ''
      const method = req.method ?? 'GET'
      const one: Asked = { method, path, headers: req.headers, body: bytes.toString(), status: 0, answer: '' }
      asked.push({ model: String(PATH_MODEL.exec(path)?.[1] ?? jsonOf(one.body)?.['model']), one })
      all.push(one)
      const out = request(recorder.target + path, { method, headers: req.headers }, answer => {
        one.status = answer.statusCode ?? 0
        res.writeHead(one.status, answer.headers)
        answer.on('data', (part: Buffer) => (one.answer += part))
        answer.on('error', () => res.destroy())
        answer.pipe(res)
      })
      out.on('error', () => res.destroy())
      res.on('close', () => out.destroy())
      out.end(bytes)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const recorder: Recorder = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target,
    all,
    of: name => asked.filter(({ model }) => model === name).map(({ one }) => one),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
  return recorder
}
