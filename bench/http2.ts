/**
 * `npm run bench:http2`: sends the same requests to the same TLS upstream over HTTP/1.1 and over HTTP/2, through the
 * gateway's connection pools, 100 at once. It prints the CPU time of this process per request, and requests per second.
 * The upstream is a separate process.
 */
import { execFileSync, fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { UpstreamConnection } from '../lib/world/compiled-channel.ts'
import { Pools } from '../lib/upstream/pools.ts'

const AT_ONCE = 100
const WARM = 3000
const COUNT = 20_000
const ROUNDS = 3
const BODY = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] }))
const ANSWER = JSON.stringify({ choices: [{ message: { content: 'Hello! How can I help you today?' } }] })

function serve(folder: string): void {
  const [key, cert] = ['key.pem', 'cert.pem'].map(name => readFileSync(path.join(folder, name)))
  const server = http2.createSecureServer({ key: key!, cert: cert!, allowHTTP1: true }, (req, res) => {
    req.resume()
    req.on('end', () => res.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER))
  })
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
}

async function measure(): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'bench-http2-'))
  const files = ['-keyout', path.join(folder, 'key.pem'), '-out', path.join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...key, ...files, ...subject], { stdio: 'ignore' })
  const upstream = fork(import.meta.filename, ['upstream', folder])
  const port = await new Promise<number>(resolve => upstream.once('message', port => resolve(port as number)))
  const ca = readFileSync(path.join(folder, 'cert.pem'), 'utf8')
  const pools = new Pools({ connectMs: 5000, connections: 4096 })
  const ways = ([false, true] as const).map((h2): UpstreamConnection => {
    const rest = { origin: `https://localhost:${port}`, proxy: null, ca, http2: h2, reserved: false }
    return { id: String(h2), ...rest }
  })
  console.log('| | CPU µs per request | requests/s |')
  console.log('|---|---|---|')
  const figures = ways.map((): [number, number][] => [])
  for (const way of ways) await send(pools, way, WARM)
  for (let round = 0; round < ROUNDS; round++)
    for (const [i, way] of ways.entries()) figures[i]?.push(await send(pools, way, COUNT))
  for (const [i, of] of figures.entries()) {
    const [cpu, perSecond] = [0, 1].map(k => of.map(f => f[k] as number).sort((a, b) => a - b)[1] as number)
    console.log(`| HTTP/${ways[i]?.http2 ? '2' : '1.1'} | ${cpu?.toFixed(0)} | ${perSecond?.toFixed(0)} |`)
  }
  await pools.destroy()
  upstream.kill()
  rmSync(folder, { recursive: true })
}

async function send(pools: Pools, way: UpstreamConnection, count: number): Promise<[cpuUs: number, perSecond: number]> {
  const cpu = process.cpuUsage()
  const began = performance.now()
  let sent = 0
  const one = async () => {
    while (sent++ < count) await ask(pools, way)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
  const { user, system } = process.cpuUsage(cpu)
  return [(user + system) / count, (count / (performance.now() - began)) * 1000]
}

const ask = (pools: Pools, way: UpstreamConnection): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = ['content-type', 'application/json']
    pools.of(way).dispatch(
      { origin: way.origin, method: 'POST', path: '/v1/chat/completions', headers, body: BODY },
      {
        onRequestStart() {},
        onResponseStart: (_controller, status) => void (status === 200 || reject(new Error(String(status)))),
        onResponseData() {},
        onResponseEnd: () => resolve(),
        onResponseError: (_controller, error) => reject(error),
      },
    )
  })

if (process.argv[2] === 'upstream') serve(process.argv[3] as string)
else await measure()
