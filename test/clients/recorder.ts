/** Stands between the gateway and the simulator, and notes what each model is asked. */
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { http } from '../../lib/base/http.ts'
import { jsonOf } from './tool.ts'

export interface Asked {
  path: string
  body: string
  /** The upstream's status; 0 = it has not answered. */
  status: number
  /** The answer so far. */
  answer: string
}

export interface Recorder {
  url: string
  /** The address that everything is passed on to. */
  target: string
  /** The requests for a model, in order. */
  of(model: string): Asked[]
  close(): void
}

/** Longer than any run: a connection that closes while it is asked would be an upstream's failure. */
const KEEP_ALIVE_MS = 600_000
const PATH_MODEL = /\/models\/([^/:]+):/

export async function startRecorder(): Promise<Recorder> {
  const asked = new Map<string, Asked[]>()
  const server = http.createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      const bytes = Buffer.concat(parts)
      const path = req.url ?? ''
      const one: Asked = { path, body: bytes.toString(), status: 0, answer: '' }
      const model = PATH_MODEL.exec(path)?.[1] ?? jsonOf(one.body)?.['model']
      asked.set(String(model), [...(asked.get(String(model)) ?? []), one])
      const out = request(recorder.target + path, { method: req.method ?? 'GET', headers: req.headers }, answer => {
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
    target: '',
    of: model => asked.get(model) ?? [],
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
  return recorder
}
