/**
 * What is done with a body as a whole: a request is written for an upstream, a document is read. Both take time that grows with the
 * body, so that they are done in another thread when it is large (`thread.ts`), by these same functions.
 */
import type { Facts } from '../protocols/facts.ts'
import { protocolRow } from '../protocols/table.ts'
import type { Protocol } from '../terms/records.ts'
import { type Ask, Untranslatable } from './ask.ts'
import type { AnswerEvent } from './events.ts'
import type { Lane } from './lane.ts'
import type { ReaderOptions, Target } from './protocol.ts'
import { translated } from './table.ts'

const JSON_TYPE = 'application/json'

/**
 * Throws `Untranslatable`, also for what no client of the upstream's own protocol may ask for: an address, say, that is a web page in one
 * protocol may be a file of another account in the other.
 */
export function laneFor(ask: Ask, via: Protocol, target: Target): Lane {
  const { body: text, names, losses } = translated(via).writeAsk(ask, target)
  const body = Buffer.from(text, 'latin1')
  const scan = protocolRow(via).body.scan(JSON_TYPE)
  scan.feed(body)
  const facts = scan.end() as Facts
  if (facts.invalid !== null) throw new Untranslatable(facts.invalid)
  const { stream, repeated } = ask
  return {
    via,
    target,
    ask: { stream, ...(repeated === undefined ? {} : { repeated }) },
    body,
    facts,
    renamed: names.renamed,
    losses,
  }
}

export function readDocument(document: Buffer, via: Protocol, options: ReaderOptions): AnswerEvent[] {
  const reader = translated(via).answerReader(options)
  return [...reader.push(document), ...reader.end()]
}
