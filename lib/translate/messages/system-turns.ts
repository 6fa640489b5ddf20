/**
 * System turns in the middle of a conversation. They stand behind the user's turn that follows, where the model knows them; elsewhere
 * they are text of the user, between tags that say so.
 */
import type { TextPart } from '../ask.ts'
import type { Round, UserRound } from '../conversation.ts'
import { join, literal } from '../json/literal.ts'

export function placeSystem(rounds: readonly Round[], areKnown: boolean): Round[] {
  const placed: Round[] = []
  let waiting: TextPart[] = []
  const put = (): void => {
    if (waiting.length > 0) putSystem(placed, waiting, areKnown)
    waiting = []
  }
  for (const round of rounds) {
    if (round.role === 'system') waiting = [...waiting, ...round.parts]
    else if (round.role === 'user') {
      joinUser(placed, { ...round, parts: [...round.parts] })
      put()
    } else {
      put()
      placed.push(round)
    }
  }
  put()
  return placed
}

/** Two turns of the user become one when a system turn between them has moved away. */
function joinUser(placed: Round[], round: UserRound): void {
  const last = placed.at(-1)
  if (last?.role === 'user' && round.results.length === 0) for (const part of round.parts) last.parts.push(part)
  else placed.push(round)
}

function putSystem(placed: Round[], parts: TextPart[], areKnown: boolean): void {
  const user = placed.at(-1)
  if (user?.role === 'user' && areKnown) {
    placed.push({ role: 'system', parts })
    return
  }
  const texts = parts.map(part => part.text)
  const text = join([literal('<system-reminder>\n'), join(texts, '\\n'), literal('\n</system-reminder>')])
  const part: TextPart = { type: 'text', text }
  if (user?.role === 'user') user.parts.push(part)
  else placed.push({ role: 'user', results: [], parts: [part] })
}
