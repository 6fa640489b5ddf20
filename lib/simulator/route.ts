/** Which protocol a path speaks, and where each takes its credential. */
import type { IncomingMessage } from 'node:http'
import type { Protocol } from '../terms/records.ts'
import type { RequestPath } from './speech.ts'

export interface Route extends RequestPath {
  protocol: Protocol
  action: 'answer' | 'count'
}

const PATHS: Record<string, [Protocol, 'answer' | 'count']> = {
  '/v1/messages': ['messages', 'answer'],
  '/v1/messages/count_tokens': ['messages', 'count'],
  '/v1/chat/completions': ['chat', 'answer'],
  '/v1/responses': ['responses', 'answer'],
  '/v1/responses/input_tokens': ['responses', 'count'],
  '/v1/images/generations': ['images', 'answer'],
}
const NATIVE = /^\/v1(?:beta|alpha)?\/models\/(.+):(generateContent|streamGenerateContent|countTokens)$/

/** null = no such path. */
export function routeOf(url: URL): Route | null {
  const known = PATHS[url.pathname]
  if (known !== undefined) return { protocol: known[0], action: known[1], model: null, stream: false, events: false }
  const m = NATIVE.exec(url.pathname)
  const model = m === null ? null : decoded(m[1] as string)
  if (m === null || model === null) return null
  return {
    protocol: 'generate',
    action: m[2] === 'countTokens' ? 'count' : 'answer',
    model,
    stream: m[2] === 'streamGenerateContent',
    events: url.searchParams.get('alt') === 'sse',
  }
}

/** null = a broken percent escape, which names nothing. */
function decoded(name: string): string | null {
  try {
    return decodeURIComponent(name)
  } catch {
    return null
  }
}

export function credentialOf(req: IncomingMessage, url: URL, protocol: Protocol): string | null {
  const header = (name: string): string | null => {
    const value = req.headers[name]
    return typeof value === 'string' ? value : null
  }
  const bearer = /^Bearer (.+)$/i.exec(header('authorization') ?? '')?.[1] ?? null
  if (protocol === 'messages') return header('x-api-key') ?? bearer
  if (protocol === 'generate')
    return header('x-gamma-api-key') ?? header('x-goog-api-key') ?? url.searchParams.get('key')
  return bearer
}
