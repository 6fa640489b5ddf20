/** A simulator, and how to ask it in every protocol with nothing but node:http. */
import http from 'node:http'
import { type Simulator, type SimulatorOptions, simulate } from '../../tools/simulator/main.ts'
import type { Talking } from '../support/talking.ts'

export type Json = Record<string, unknown>

export interface Got {
  /** 0 = the connection ended before there was one. */
  status: number
  headers: http.IncomingHttpHeaders
  text: string
  json: Json
  /** The answer broke off. */
  cut: boolean
}

interface Teardown {
  teardown(fn: () => unknown): void
}

export async function start(t: Teardown, options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await simulate(options)
  t.teardown(() => simulator.close())
  return simulator
}

export interface Call {
  method?: string
  headers?: http.OutgoingHttpHeaders
  body?: unknown
  /** Leave after so many bytes. */
  leaveAfter?: number
}

export function call(url: string, { method = 'POST', headers = {}, body, leaveAfter }: Call = {}): Promise<Got> {
  return new Promise(resolve => {
    let text = ''
    const got = (res: http.IncomingMessage | null, cut: boolean) =>
      resolve({ status: res?.statusCode ?? 0, headers: res?.headers ?? {}, text, json: parse(text), cut })
    const req = http.request(url, { method, agent: false, headers }, res => {
      res.setEncoding('utf8')
      res.on('data', part => {
        text += part
        if (leaveAfter !== undefined && text.length >= leaveAfter) req.destroy()
      })
      res.on('end', () => got(res, false))
      res.on('error', () => got(res, true))
    })
    req.on('error', () => got(null, true))
    req.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body))
  })
}

function parse(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** The smallest request of each protocol with this prompt. */
export const ASK: Record<Talking, (prompt: string, stream: boolean, extra?: Json) => [path: string, body: Json]> = {
  messages: (prompt, stream, extra) => [
    '/v1/messages',
    { model: 'm', max_tokens: 1000, messages: [{ role: 'user', content: prompt }], stream, ...extra },
  ],
  chat: (prompt, stream, extra) => [
    '/v1/chat/completions',
    {
      model: 'm',
      messages: [{ role: 'user', content: prompt }],
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {}),
      ...extra,
    },
  ],
  responses: (prompt, stream, extra) => ['/v1/responses', { model: 'm', input: prompt, stream, ...extra }],
  images: (prompt, stream, extra) => ['/v1/images/generations', { model: 'm', prompt, stream, ...extra }],
  generate: (prompt, stream, extra) => [
    `/v1beta/models/m:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: prompt }] }], ...extra },
  ],
}

export const SPEAKING = ['messages', 'chat', 'responses', 'generate'] as const

export function ask(
  { url }: { url: string },
  protocol: Talking,
  prompt: string,
  { stream = false, extra = {}, ...rest }: { stream?: boolean; extra?: Json } & Omit<Call, 'body'> = {},
): Promise<Got> {
  const [path, body] = ASK[protocol](prompt, stream, extra)
  return call(url + path, { ...rest, body })
}

/** The events of a stream: the JSON of each, `[DONE]` left out. */
export const eventsOf = ({ text }: Got): Json[] =>
  [...text.matchAll(/^data: (\{.*\})\r?$/gm)].map(m => JSON.parse(m[1] as string))

/** A usage as the books know it, from what a whole answer or the last event that has one says. */
export function outputReported(protocol: Talking, bodies: Json[]): number | undefined {
  for (const body of bodies.toReversed()) {
    const { usage, usageMetadata, response } = body as {
      usage?: Json
      usageMetadata?: Json
      response?: { usage?: Json }
    }
    const found = (protocol === 'generate' ? usageMetadata : (usage ?? response?.usage)) as
      | Record<string, number>
      | undefined
      | null
    if (!found) continue
    if (protocol === 'generate') return (found['candidatesTokenCount'] ?? 0) + (found['thoughtsTokenCount'] ?? 0)
    return protocol === 'chat' ? found['completion_tokens'] : found['output_tokens']
  }
  return undefined
}
