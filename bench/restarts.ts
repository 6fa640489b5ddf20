/**
 * `npm run restarts [-- --times 20 --workers 2]`: sends SIGUSR2 and SIGHUP in turns to a gateway under load. There are
 * long streams, clients that keep their connections, and clients that open one for each request. Every request must get
 * its complete answer, and the books must contain exactly what was answered. With several workers, one is killed at the
 * end.
 */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { childrenOf, servingOf } from '../test/support/processes.ts'
import { scriptOptions } from '../test/support/script.ts'
import { KEY, startGateway, startUpstream } from './parts/subjects.ts'
import { chatBody } from './parts/workloads.ts'

const values = scriptOptions(import.meta.filename, {
  times: { type: 'string', default: '20' },
  workers: { type: 'string', default: '2' },
})
const TIMES = Number(values.times)
const WORKERS = Number(values.workers)
const PAUSE_MS = 4000
const STREAMS = 20
const CLIENTS = 20
/**
 * The charges in micro-CNY for what the upstream of the bench reports, 12 tokens in and 9 or 100 out, at the prices of
 * the bench.
 */
const WHOLE_MICRO = 12 * 2 + 9 * 8
const STREAM_MICRO = 12 * 2 + 100 * 8

const answered = { whole: 0, streams: 0 }
const failures: string[] = []
let over = false
const kept = new http.Agent({ keepAlive: true, maxSockets: CLIENTS + STREAMS })
const fresh = new http.Agent({ keepAlive: false })

/** Sends one request; resolves with the text of the answer, or undefined when it was not a complete 200. */
function ask(port: number, stream: boolean, agent: http.Agent): Promise<string | undefined> {
  const what = stream ? 'stream' : 'request'
  return new Promise(resolve => {
    const failed = (why: string) => {
      failures.push(`${new Date().toISOString()} ${what}: ${why}`)
      resolve(undefined)
    }
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const req = http.request({ port, agent, method: 'POST', path: '/v1/chat/completions', headers }, res => {
      let text = ''
      res.on('data', chunk => {
        text += chunk
      })
      res.on('error', error => failed(`answer broke off: ${error.message}`))
      res.on('end', () => (res.statusCode === 200 ? resolve(text) : failed(`${res.statusCode} ${text}`)))
    })
    req.on('error', error => failed(error.message))
    req.end(chatBody(200, stream))
  })
}

async function client(port: number, stream: boolean, agent: http.Agent): Promise<void> {
  while (!over) {
    const text = await ask(port, stream, agent)
    if (text === undefined) continue
    const whole = stream ? text.endsWith('data: [DONE]\n\n') : text.includes('How can I help')
    if (!whole) failures.push(`not whole: ${text.slice(-100)}`)
    else if (stream) answered.streams++
    else answered.whole++
    if (!stream) await sleep(5)
  }
}

const upstreams = [await startUpstream(), await startUpstream({ GAP_MS: '150' })] as const
const [fast, slow] = upstreams
// one upstream sends streams of 15 s, the other whole answers
const front = http.createServer((req, res) => {
  const parts: Buffer[] = []
  req.on('data', (part: Buffer) => parts.push(part))
  req.on('end', () => {
    const body = Buffer.concat(parts)
    const port = body.includes('"stream":true') ? slow.port : fast.port
    const up = http.request(
      { port, method: 'POST', path: req.url, headers: { 'content-length': body.length } },
      from => {
        res.writeHead(from.statusCode as number, { 'content-type': from.headers['content-type'] })
        from.pipe(res)
      },
    )
    up.on('error', () => res.destroy())
    up.end(body)
  })
})
await new Promise<void>(resolve => front.listen(0, '127.0.0.1', resolve))
const gateway = await startGateway((front.address() as { port: number }).port, undefined, 'gateway', {
  workers: WORKERS,
})
const clients = [
  ...Array.from({ length: CLIENTS }, (_, i) => client(gateway.port, false, i % 2 === 0 ? kept : fresh)),
  ...Array.from({ length: STREAMS }, () => client(gateway.port, true, kept)),
]
await sleep(2000)
for (let i = 1; i <= TIMES; i++) {
  process.kill(gateway.supervisor, i % 2 === 1 ? 'SIGUSR2' : 'SIGHUP')
  await sleep(PAUSE_MS)
  console.error(`restart ${i}: ${answered.whole} answers, ${answered.streams} streams, ${failures.length} failures`)
}
const graceful = failures.length
if (WORKERS > 1) {
  const [victim] = childrenOf(servingOf(gateway.supervisor))
  process.kill(victim as number, 'SIGKILL')
  await sleep(3000)
}
const killed = failures.length - graceful
over = true
await Promise.all(clients)
await sleep(1500)
const admin = { authorization: 'Bearer bench-admin-token' }
const get = async (path: string) => (await (await fetch(`${gateway.ops}${path}`, { headers: admin })).json()) as never
const account = (await get('/admin/accounts/bench')) as { balance: string; held: string }
const audit = (await get('/admin/audit')) as { ok: boolean; charges: string }
const workers = childrenOf(servingOf(gateway.supervisor)).length
const processes = childrenOf(gateway.supervisor).length
await gateway.stop()
front.closeAllConnections()
front.close()
kept.destroy()
for (const upstream of upstreams) await upstream.stop()

const expected = answered.whole * WHOLE_MICRO + answered.streams * STREAM_MICRO
const charged = Math.round(Number(audit.charges) * 1e6)
const lines = [
  `workers ${WORKERS}, restarts ${TIMES}: ${answered.whole} answers and ${answered.streams} streams of 15 s whole, ${graceful} failures`,
  ...(WORKERS > 1 ? [`a worker killed: ${killed} requests of its own broke off, ${workers} workers afterwards`] : []),
  `charged ${charged} micro-CNY, answered ${expected}; audit ${audit.ok ? 'ok' : 'NOT ok'}, held ${account.held}`,
]
console.log(lines.join('\n'))
for (const failure of failures.slice(0, 10)) console.log(failure)
// the answers that a killed worker had relayed and not settled are not charged, so at most these may be missing
const exact = killed === 0 ? charged === expected : charged >= expected && charged <= expected + killed * STREAM_MICRO
if (
  processes !== 1 ||
  workers !== (WORKERS > 1 ? WORKERS : 0) ||
  graceful > 0 ||
  !audit.ok ||
  account.held !== '0.000000' ||
  !exact
)
  process.exitCode = 1
