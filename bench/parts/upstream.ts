/**
 * The upstream of all benches, in a separate process. It sends prepared bytes on raw sockets, so that it takes little
 * of the machine. The path and body of a request decide the answer: a stream when the body contains `"stream":true`.
 *   env EVENTS (100), GAP_MS (0 = all at once)
 */
import net from 'node:net'

const EVENTS = Number(process.env['EVENTS'] ?? 100)
const GAP_MS = Number(process.env['GAP_MS'] ?? 0)

const JSON_BODY = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1790000000,
  model: 'beta-4.7',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'Hello! How can I help you today?' }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 12, completion_tokens: 9, total_tokens: 21 },
})
const WHOLE = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(JSON_BODY)}\r\nconnection: keep-alive\r\n\r\n${JSON_BODY}`,
)
const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n'

const event = (fields: object): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1790000000, model: 'beta-4.7', service_tier: 'default', system_fingerprint: 'fp_0123456789', ...fields })}\n\n`
const framed = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const delta = framed(
  event({
    choices: [{ index: 0, delta: { content: ' token' }, finish_reason: null }],
    usage: null,
    obfuscation: 'Zk3x9QpLm',
  }),
)
const ending =
  framed(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null })) +
  framed(event({ choices: [], usage: { prompt_tokens: 12, completion_tokens: EVENTS, total_tokens: 12 + EVENTS } })) +
  framed('data: [DONE]\n\n') +
  '0\r\n\r\n'
const BURST = Buffer.from(STREAM_HEAD + delta.repeat(EVENTS) + ending)
const FIRST = Buffer.from(STREAM_HEAD + delta)
const DELTA = Buffer.from(delta)
const ENDING = Buffer.from(ending)

const server = net.createServer(socket => {
  socket.setNoDelay(true)
  socket.on('error', () => {})
  let need = -1
  let stream = false
  socket.on('data', (chunk: Buffer) => {
    if (need < 0) {
      const end = chunk.indexOf('\r\n\r\n')
      const head = chunk.subarray(0, end).toString('latin1')
      need = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0)
      stream = chunk.includes('"stream":true')
      need -= chunk.length - end - 4
    } else {
      stream ||= chunk.includes('"stream":true')
      need -= chunk.length
    }
    if (need > 0) return
    need = -1
    if (!stream) socket.write(WHOLE)
    else if (GAP_MS === 0) socket.write(BURST)
    else pace(socket)
  })
})

function pace(socket: net.Socket): void {
  socket.write(FIRST)
  let sent = 1
  const timer = setInterval(() => {
    if (socket.destroyed) clearInterval(timer)
    else if (sent++ < EVENTS) socket.write(DELTA)
    else {
      clearInterval(timer)
      socket.write(ENDING)
    }
  }, GAP_MS)
}

server.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1', 4096, () => {
  console.log(JSON.stringify({ ready: true, port: (server.address() as net.AddressInfo).port }))
})
