/** What the official clients make of an answer: their accumulators throw at whatever they do not expect. */
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import type { AnswerEvent } from '../../../lib/translate/events.ts'
import type { Translated } from '../../../lib/translate/table.ts'
import { tell, usageOf, writerOptions } from './answers.ts'
import OpenAI from 'openai'
import { chat, generate, messages, responses } from './protocols.ts'

export const PROTOCOLS: Readonly<Record<string, Translated>> = { messages, chat, responses, generate }

/** What a client has when its stream has ended. */
export interface Accumulated {
  text: string
  calls: { name: string; args: unknown }[]
  /** It will run the calls. */
  runs: boolean
}

const EVENTS = { headers: { 'content-type': 'text/event-stream' } }
const MESSAGES = [{ role: 'user' as const, content: 'x' }]
/** What the next request is answered. */
let bytes: Buffer = Buffer.alloc(0)
const fetch = async (): Promise<Response> => new Response(new Uint8Array(bytes), EVENTS)
const anthropic = new Anthropic({ apiKey: 'k', maxRetries: 0, fetch })
const openai = new OpenAI({ apiKey: 'k', maxRetries: 0, fetch })
const google = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: 'http://upstream.test' } })

const CLIENTS: Readonly<Record<string, () => Promise<Accumulated>>> = {
  async messages() {
    const stream = anthropic.messages.stream({ model: 'm', max_tokens: 9, messages: MESSAGES })
    const { content, stop_reason } = await stream.finalMessage()
    return {
      text: content.map(block => (block.type === 'text' ? block.text : '')).join(''),
      calls: content.flatMap(block => (block.type === 'tool_use' ? [{ name: block.name, args: block.input }] : [])),
      runs: stop_reason === 'tool_use',
    }
  },
  async chat() {
    const [choice] = (await openai.chat.completions.stream({ model: 'm', messages: MESSAGES }).finalChatCompletion())
      .choices
    const calls = choice?.message.tool_calls ?? []
    return {
      text: (choice?.message.content ?? '') + (choice?.message.refusal ?? ''),
      calls: calls.flatMap(call =>
        call.type === 'function' ? [{ name: call.function.name, args: call.function.arguments }] : [],
      ),
      runs: choice?.finish_reason === 'tool_calls',
    }
  },
  async responses() {
    const { output, status } = await openai.responses.stream({ model: 'm', input: 'x' }).finalResponse()
    const texts = output.flatMap(item => (item.type === 'message' ? item.content : []))
    const calls = output.flatMap(item =>
      item.type === 'function_call' ? [{ name: item.name, args: item.arguments }] : [],
    )
    return {
      text: texts.map(part => (part.type === 'refusal' ? part.refusal : part.text)).join(''),
      calls,
      runs: status === 'completed' && calls.length > 0,
    }
  },
  async generate() {
    const real = globalThis.fetch
    globalThis.fetch = fetch
    try {
      const seen: Accumulated = { text: '', calls: [], runs: false }
      let reason = ''
      for await (const chunk of await google.models.generateContentStream({ model: 'm', contents: 'x' })) {
        for (const part of chunk.candidates?.[0]?.content?.parts ?? []) {
          if (part.thought !== true) seen.text += part.text ?? ''
          if (part.functionCall !== undefined)
            seen.calls.push({ name: part.functionCall.name ?? '', args: part.functionCall.args })
        }
        reason = chunk.candidates?.[0]?.finishReason ?? reason
      }
      return { ...seen, runs: reason === 'STOP' && seen.calls.length > 0 }
    } finally {
      globalThis.fetch = real
    }
  },
}

/** Throws as the client does; of an answer that was broken off, what we say then. */
export function accumulated(client: string, events: readonly AnswerEvent[]): Promise<Accumulated> {
  const writer = (PROTOCOLS[client] as Translated).answerWriter(writerOptions())
  const text = tell(writer, events)
  const isBroken = events.at(-1)?.type !== 'end' || writer.failure !== null
  const failure = { kind: 'server', status: 500, message: 'broken off' } as const
  bytes = Buffer.from(text + (isBroken ? writer.breakOff(failure) : writer.finish(usageOf())), 'latin1')
  return (CLIENTS[client] as () => Promise<Accumulated>)()
}
