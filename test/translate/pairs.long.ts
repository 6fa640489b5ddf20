/**
 * 20,000 random streams through every pair of protocols and back: texts, thoughts, parallel calls, pictures and failures of the upstream. An
 * upstream of one protocol answers a client of another; that client's bytes are read again, and told to a client of the first.
 */
import t from 'tap'
import type { AnswerEvent } from '../../lib/translate/events.ts'
import { seeded } from '../support/random.ts'
import { come, cuts, randomAnswer, readAll, tell, usageOf, writeAll, writerOptions } from './support/answers.ts'
import { PROTOCOLS } from './support/clients.ts'
import { converse } from './support/converse.ts'
import type { Translated } from '../../lib/translate/table.ts'

const NAMES = Object.keys(PROTOCOLS)
/** Converse is one of upstreams alone. */
const UPSTREAMS: Readonly<Record<string, Translated>> = { ...PROTOCOLS, converse }
const PAIRS = Object.keys(UPSTREAMS).flatMap(from => NAMES.filter(to => to !== from).map(to => [from, to] as const))
const RUNS = Math.ceil(Number(process.env['RUNS'] ?? 20_000) / PAIRS.length)
const BROKEN = { kind: 'server', status: 502, message: 'gone' } as const
const LEFT_OUT = /\[A file \(image\/png\) was left out: this protocol has no place for it in answers\.\]/g

/** What every protocol can tell: texts and thoughts, each as one; calls; how many pictures; why it ended. Messages tells a picture as a text. */
function told(events: readonly AnswerEvent[]): object {
  const { blocks, stop } = come(events)
  const all = blocks as { kind: string; text: string; call?: object }[]
  const text = all.filter(({ kind }) => kind === 'text' || kind === 'refusal').map(one => one.text)
  const drawn = events.filter(event => event.type === 'open' && event.kind === 'media')
  const pictures = drawn.length + (text.join('').match(LEFT_OUT) ?? []).length
  return {
    text: text.join('').replace(LEFT_OUT, ''),
    thought: all
      .filter(({ kind }) => kind === 'thought')
      .map(one => one.text)
      .join(''),
    // in events and in generate-content, arguments have no ends of lines
    calls: all
      .filter(({ kind }) => kind === 'call')
      .map(({ call, text }) => ({ call, args: text.replace(/[\r\n]+/g, ' ') })),
    pictures,
    stop,
  }
}

/** The bytes of a stream; one that fails ends with the protocol's own error. */
function streamed(protocol: Translated, events: readonly AnswerEvent[]): Buffer {
  if (events.at(-1)?.type === 'end') return writeAll(protocol, events, usageOf())
  const writer = protocol.answerWriter(writerOptions())
  return Buffer.from(tell(writer, events) + writer.breakOff(BROKEN), 'latin1')
}

for (const [from, to] of PAIRS)
  t.test(`${from} to ${to} and back: ${RUNS} random streams`, async t => {
    const random = seeded(t)
    const [upstream, client] = [UPSTREAMS[from] as Translated, PROTOCOLS[to] as Translated]
    let failed = 0
    for (let run = 0; run < RUNS; run++) {
      const answer = randomAnswer(random, { pictures: true })
      const isFailing = random.next() < 0.1
      // half an answer, and then the error of the upstream
      const events = isFailing ? answer.slice(0, random.int(1, answer.length - 2)) : answer
      const first = readAll(upstream, cuts(random, streamed(upstream, events)))
      const second = readAll(client, cuts(random, streamed(client, first)))
      const third = readAll(upstream, cuts(random, streamed(upstream, second)))
      if (isFailing) {
        failed++
        for (const one of [first, second, third])
          t.equal(one.at(-1)?.type, 'fail', `run ${run}: a cut answer is no end`)
        continue
      }
      if (!t.same(told(second), told(first), `run ${run}, there`)) return
      if (!t.same(told(third), told(second), `run ${run}, and back`)) return
    }
    t.ok(failed > 0 || RUNS < 50, `${failed} of them failed`)
  })
