/** One request of the playground: it is sent with a key's id, its answer is read as it comes, and what it cost is asked for. */
import type { ReceiptAnswer } from '../../../lib/operations/usage/requests.ts'
import { get, Refused } from '../../base/ask.ts'
import { accountPath } from '../../base/session.ts'
import { language, words } from '../../base/words.ts'
import { type Asked, type Piece, SPOKEN, type SpokenProtocol } from './spoken.ts'

const w = words({
  unreachable: [
    '没有收到网关的回答，请检查网络后再试',
    'No answer came from the gateway: look at the network, then try again',
  ],
  broken: ['回答中途断开', 'The answer broke off'],
  stopped: ['已停止', 'Stopped'],
})

/** Waits before the receipt is asked for again: a charge is in the store a moment after the answer has ended. */
const RECEIPT_WAITS_MS = [0, 250, 500, 1_000, 2_000, 4_000]

export interface Ended {
  /** null = no answer came. */
  requestId: string | null
  /** Why there is no whole answer; null = it is whole. */
  failed: string | null
}

interface Sent {
  key: string
  protocol: string
  asked: Asked
  signal: AbortSignal
}

/** Resolves when the answer has ended, well or not. `add` is called with each piece. */
export async function askModel({ key, protocol, asked, signal }: Sent, add: (piece: Piece) => void): Promise<Ended> {
  const spoken = SPOKEN[protocol] as SpokenProtocol
  let requestId: string | null = null
  let failed: string | null = null
  const take = (event: Record<string, unknown>) => {
    for (const piece of spoken.read(event)) {
      failed = piece.failed ?? failed
      add(piece)
    }
  }
  try {
    const path = new URLSearchParams({ path: spoken.path(asked.model) })
    const response = await fetch(`/console/api${accountPath()}/keys/${encodeURIComponent(key)}/ask?${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'accept-language': language.value === 'zh' ? 'zh-CN' : 'en' },
      body: JSON.stringify({ ...spoken.body(asked), ...spoken.streaming }),
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'error',
      signal,
    })
    requestId = response.headers.get('x-request-id')
    if (!response.ok) return { requestId, failed: await refusalIn(response) }
    if (spoken.streaming === null) take((await response.json()) as Record<string, unknown>)
    else await readEvents(response, take)
    return { requestId, failed }
  } catch {
    return { requestId, failed: signal.aborted ? w.stopped() : requestId === null ? w.unreachable() : w.broken() }
  }
}

async function refusalIn(response: Response): Promise<string> {
  const answer = (await response.json().catch(() => null)) as { error?: { message?: unknown } } | null
  return `${response.status} ${String(answer?.error?.message ?? response.statusText)}`
}

/** Reads `data:` lines; what is no JSON object, such as `[DONE]`, says nothing. */
async function readEvents(response: Response, take: (event: Record<string, unknown>) => void): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const piece = await reader?.read()
    if (piece === undefined || piece.done) return
    const lines = (rest + piece.value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data:')) takeJson(line.slice('data:'.length), take)
  }
}

function takeJson(text: string, take: (event: Record<string, unknown>) => void): void {
  if (!text.trimStart().startsWith('{')) return
  take(JSON.parse(text) as Record<string, unknown>)
}

/** What the request cost, in CNY. null = it was refused, or its row has not come. */
export async function costOf(requestId: string): Promise<string | null> {
  for (const waitMs of RECEIPT_WAITS_MS) {
    await new Promise(resolve => setTimeout(resolve, waitMs))
    try {
      const { request, refusal } = await get<ReceiptAnswer>(
        `${accountPath()}/requests/${encodeURIComponent(requestId)}`,
      )
      if (request !== null) return request.charge
      if (refusal !== null) return null
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) return null
    }
  }
  return null
}
