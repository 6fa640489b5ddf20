/**
 * The upstream of all benches, in a separate process. It sends prepared bytes on raw sockets, so that it takes little
 * of the machine. The path and body of a request decide the answer: its protocol, and a stream when the body contains `"stream":true`.
 *   env EVENTS (100), GAP_MS (0 = all at once; a body may ask for a short one), ANSWER_BYTES (0 = a document is short)
 */
import net from 'node:net'
import { SOON } from './workloads.ts'

const EVENTS = Number(process.env['EVENTS'] ?? 100)
const GAP_MS = Number(process.env['GAP_MS'] ?? 0)
const SHORT_GAP_MS = 2
const LINE = 'console.log("so it is")\n'
const TEXT = `Hello! How can I help you today?${LINE.repeat(Number(process.env['ANSWER_BYTES'] ?? 0) / JSON.stringify(LINE).length)}`

const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n'

const whole = (answer: object): Buffer => {
  const body = JSON.stringify(answer)
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: keep-alive\r\n\r\n${body}`,
  )
}
const framed = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

/** What the upstream says in one protocol. */
interface Speech {
  whole: Buffer
  /** The head of a stream, and what comes before its deltas. */
  begin: string
  delta: string
  end: string
}

const chunk = (fields: object): string =>
  framed(
    `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1790000000, model: 'beta-4.7', service_tier: 'default', system_fingerprint: 'fp_0123456789', ...fields })}\n\n`,
  )
const CHAT: Speech = {
  whole: whole({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1790000000,
    model: 'beta-4.7',
    choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 12, completion_tokens: 9, total_tokens: 21 },
  }),
  begin: STREAM_HEAD,
  delta: chunk({
    choices: [{ index: 0, delta: { content: ' token' }, finish_reason: null }],
    usage: null,
    obfuscation: 'Zk3x9QpLm',
  }),
  end:
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null }) +
    chunk({ choices: [], usage: { prompt_tokens: 12, completion_tokens: EVENTS, total_tokens: 12 + EVENTS } }) +
    framed('data: [DONE]\n\n') +
    '0\r\n\r\n',
}

const named = (type: string, fields: object): string =>
  framed(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
const MESSAGE = { id: 'msg_bench', type: 'message', role: 'assistant', model: 'alpha-5' }
const MESSAGES: Speech = {
  whole: whole({
    ...MESSAGE,
    content: [{ type: 'text', text: TEXT }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 12, output_tokens: 9 },
  }),
  begin:
    STREAM_HEAD +
    named('message_start', {
      message: {
        ...MESSAGE,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 12, output_tokens: 1 },
      },
    }) +
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  delta: named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: ' token' } }),
  end:
    named('content_block_stop', { index: 0 }) +
    named('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: EVENTS },
    }) +
    named('message_stop', {}) +
    '0\r\n\r\n',
}

const prepared = ({ whole, begin, delta, end }: Speech) => ({
  whole,
  burst: Buffer.from(begin + delta.repeat(EVENTS) + end),
  first: Buffer.from(begin + delta),
  delta: Buffer.from(delta),
  ending: Buffer.from(end),
})
type Prepared = ReturnType<typeof prepared>
const SAID = { chat: prepared(CHAT), messages: prepared(MESSAGES) }

const server = net.createServer(socket => {
  socket.setNoDelay(true)
  socket.on('error', () => {})
  let need = -1
  let stream = false
  let gapMs = GAP_MS
  let said = SAID.chat
  socket.on('data', (chunk: Buffer) => {
    if (need < 0) {
      const end = chunk.indexOf('\r\n\r\n')
      const head = chunk.subarray(0, end).toString('latin1')
      need = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0)
      stream = chunk.includes('"stream":true')
      gapMs = chunk.includes(SOON) ? Math.min(GAP_MS, SHORT_GAP_MS) : GAP_MS
      said = head.startsWith('POST /v1/messages') ? SAID.messages : SAID.chat
      need -= chunk.length - end - 4
    } else {
      stream ||= chunk.includes('"stream":true')
      need -= chunk.length
    }
    if (need > 0) return
    need = -1
    if (!stream) socket.write(said.whole)
    else if (gapMs > 0) pace(socket, said, gapMs)
    else socket.write(said.burst)
  })
})

function pace(socket: net.Socket, { first, delta, ending }: Prepared, gapMs: number): void {
  socket.write(first)
  let sent = 1
  const timer = setInterval(() => {
    if (socket.destroyed) clearInterval(timer)
    else if (sent++ < EVENTS) socket.write(delta)
    else {
      clearInterval(timer)
      socket.write(ending)
    }
  }, gapMs)
}

server.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1', 4096, () => {
  console.log(JSON.stringify({ ready: true, port: (server.address() as net.AddressInfo).port }))
})
