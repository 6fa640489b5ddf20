/** What a translated answer holds in memory is bounded, whatever its upstream sends and whatever its client speaks. */
import t from 'tap'
import { Blocks, MOST_BLOCKS } from '../../lib/translate/answer-reader.ts'
import { MOST_HELD } from '../../lib/translate/answer-writer.ts'
import type { AnswerEvent, AnswerWriter } from '../../lib/translate/events.ts'
import { TRANSLATED, translated } from '../../lib/translate/table.ts'
import { readerOptions, writerOptions } from './support/answers.ts'

const MIB = 1024 * 1024
const PIECE = `"${'x'.repeat(MIB - 2)}"`
const FORMS = TRANSLATED.flatMap(protocol => [true, false].map(events => ({ protocol, events })))
const nameOf = ({ protocol, events }: (typeof FORMS)[number]) => `${protocol}, ${events ? 'stream' : 'document'}`

/** The most that the writer held, while events came until it failed. */
function mostHeld(writer: AnswerWriter, events: Iterable<AnswerEvent>): number {
  let most = 0
  for (const event of events) {
    writer.write(event)
    most = Math.max(most, writer.held)
    if (writer.failure !== null) break
  }
  return most
}

function* endless(kind: 'call' | 'text' | 'thought'): Iterable<AnswerEvent> {
  const blocks = new Blocks(readerOptions())
  blocks.begin('id', 'model')
  const call = kind === 'call' ? blocks.call('c', 'f') : -1
  if (kind === 'call') blocks.args(call, '"{\\"a\\":\\""')
  for (let n = 0; n < 40; n++) {
    if (kind === 'call') blocks.args(call, PIECE)
    else blocks.text(kind, PIECE)
    yield* blocks.found.take()
  }
}

/** The first of two calls stays open, so that all of the second one waits where calls are told one after the other. */
function* waiting(): Iterable<AnswerEvent> {
  const blocks = new Blocks(readerOptions())
  blocks.begin('id', 'model')
  const first = blocks.call('a', 'f')
  const second = blocks.call('b', 'f')
  blocks.args(first, '"{"')
  blocks.args(second, '"{\\"a\\":\\""')
  for (let n = 0; n < 40; n++) {
    blocks.args(second, PIECE)
    yield* blocks.found.take()
  }
}

for (const form of FORMS) {
  const writer = () => translated(form.protocol).answerWriter(writerOptions({ events: form.events }))
  t.test(`${nameOf(form)}: without end`, async t => {
    for (const [what, events] of Object.entries({
      arguments: endless('call'),
      text: endless('text'),
      thoughts: endless('thought'),
      'arguments of a call that waits': waiting(),
    })) {
      const one = writer()
      const most = mostHeld(one, events)
      t.ok(most <= MOST_HELD + 2 * MIB, `${what}: ${most}`)
      t.ok(most < MOST_HELD || one.failure !== null, `${what}: more than that is a failure`)
    }
  })
}

t.test('an event and a document without end fail the answer, and nothing of them is kept', async t => {
  const chunk = Buffer.alloc(MIB, 'x')
  for (const form of FORMS) {
    const reader = translated(form.protocol).answerReader(readerOptions({ events: form.events }))
    let most = 0
    const events = [...reader.push(Buffer.from(form.events ? 'data: {"a":"' : '{"a":"'))]
    for (let n = 0; n < 40; n++) {
      events.push(...reader.push(chunk))
      most = Math.max(most, reader.held)
    }
    events.push(...reader.push(Buffer.from('"}\n\n')), ...reader.end())
    t.match(events.at(-1), { type: 'fail', failure: { message: /too long/ } }, nameOf(form))
    t.ok(most <= (form.events ? 9 : 33) * MIB, `${nameOf(form)}: ${most}`)
  }
})

t.test('blocks are as many as they may be, and then a failure', async t => {
  const blocks = new Blocks(readerOptions())
  blocks.begin('id', 'model')
  for (let n = 0; n <= MOST_BLOCKS; n++) blocks.call(`c${n}`, 'f')
  const events = blocks.found.take()
  t.equal(events.filter(({ type }) => type === 'open').length, MOST_BLOCKS)
  t.match(events.at(-1), { type: 'fail' })
  for (const form of FORMS) {
    const writer = translated(form.protocol).answerWriter(writerOptions({ events: form.events }))
    t.ok(mostHeld(writer, events.slice(0, -1)) < 4 * MIB, nameOf(form))
  }
})
