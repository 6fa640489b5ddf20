/**
 * The load: closed-loop connections on raw sockets that send prepared bytes and look for the end of each answer.
 * A process of its own, told by one line of JSON on its standard input; prints one line of JSON when done.
 */
import { readFileSync } from 'node:fs'
import net from 'node:net'

interface Order {
  port: number
  host: string
  path: string
  headers: Record<string, string>
  /** The body; `bodyBytes` pads the prompt up to that size. */
  body: string
  connections: number
  requests: number
  stream: boolean
  /** Connections are opened over so long; default: at once. */
  rampMs?: number
}

const order = JSON.parse(readFileSync(0, 'utf8')) as Order
const body = Buffer.from(order.body)
const lines = Object.entries({
  host: `${order.host}:${order.port}`,
  ...order.headers,
  'content-length': String(body.length),
})
const request = Buffer.concat([
  Buffer.from(`POST ${order.path} HTTP/1.1\r\n${lines.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n`),
  body,
])
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

let started = 0
let done = 0
let failed = 0
let bytes = 0
const latenciesUs: number[] = []
const begin = performance.now()

function open(): void {
  const socket = net.connect(order.port, order.host)
  socket.setNoDelay(true)
  let sentAt = 0
  let expected = -1
  let got = 0
  const next = () => {
    if (started >= order.requests) {
      socket.destroy()
      return
    }
    started++
    sentAt = performance.now()
    expected = -1
    got = 0
    socket.write(request)
  }
  socket.on('connect', next)
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (expected < 0) {
      const head = chunk.toString('latin1', 0, Math.min(chunk.length, 2048))
      const end = head.indexOf('\r\n\r\n')
      if (!head.startsWith('HTTP/1.1 200')) failed++
      const length = /content-length: *(\d+)/i.exec(head.slice(0, end))
      expected = length === null ? 0 : Number(length[1]) + end + 4
    }
    got += chunk.length
    const whole = expected > 0 ? got >= expected : chunk.subarray(-5).equals(LAST_CHUNK)
    if (!whole) return
    latenciesUs.push((performance.now() - sentAt) * 1000)
    done++
    if (done === order.requests) report()
    else next()
  })
  socket.on('error', error => {
    console.error(error.message)
    process.exit(1)
  })
  socket.on('close', () => {
    if (done < order.requests && started < order.requests) open()
  })
}

function report(): void {
  const seconds = (performance.now() - begin) / 1000
  latenciesUs.sort((a, b) => a - b)
  const at = (q: number) => latenciesUs[Math.min(latenciesUs.length - 1, Math.floor(q * latenciesUs.length))]
  const cpu = process.cpuUsage()
  console.log(
    JSON.stringify({
      done,
      failed,
      bytes,
      seconds,
      perSecond: done / seconds,
      p50us: at(0.5),
      p99us: at(0.99),
      loadCpuS: (cpu.user + cpu.system) / 1e6,
    }),
  )
  process.exit(0)
}

const { rampMs = 0 } = order
for (let i = 0; i < order.connections; i++)
  if (rampMs === 0) open()
  else setTimeout(open, (i / order.connections) * rampMs)
