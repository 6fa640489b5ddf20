/** Checks the answer of a subject before anything is timed. */
import type { Subject } from '../parts/subjects.ts'
import { orderFor } from './context.ts'

/** Throws when the answer has another status, or not this many events. `events` null = a whole answer is expected. */
export async function checkAnswer(
  subject: Subject,
  body: string,
  wanted: { status: number; events: number | null },
): Promise<void> {
  const { headers, path } = orderFor(subject, { kinds: [], requests: 0 })
  if (wanted.status === 401) headers['authorization'] = 'Bearer sk-of-nobody'
  const answer = await fetch(`http://127.0.0.1:${subject.port}${path}`, { method: 'POST', headers, body })
  const text = await answer.text()
  if (answer.status !== wanted.status || !right(text, wanted))
    throw new Error(`${subject.name} answers wrongly: ${answer.status} ${text.slice(0, 300)}`)
}

function right(text: string, { status, events }: { status: number; events: number | null }): boolean {
  if (status === 401) return text.includes('无效的令牌 (request id: ')
  if (events === null) return text.includes('How can I help you today?')
  return text.endsWith('data: [DONE]\n\n') && text.split('" token"').length === events + 1
}
