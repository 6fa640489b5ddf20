/** Several answers to one request (`n`, `candidateCount`), between the two protocols that have them: requests, and answers in every form. */
import t from 'tap'
import type { AnswerEvent } from '../../lib/translate/events.ts'
import type { Translated } from '../../lib/translate/table.ts'
import { seeded } from '../support/random.ts'
import { come, cuts, type Loose, randomAnswer, readAll, usageOf, writeAll } from './support/answers.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'
import { bodyOf, refuses, via } from './support/rows.ts'

const ASK = { messages: [{ role: 'user', content: 'q' }], n: 3 }
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'q' }] }], generationConfig: { candidateCount: 3 } }

t.test('requests say how many answers they want, or are refused by name', async t => {
  t.equal(bodyOf(via(chat, generate, ASK))['generationConfig'].candidateCount, 3)
  t.equal(bodyOf(via(generate, chat, CONTENTS))['n'], 3)
  for (const to of [messages, responses]) {
    refuses(t, chat, to, ASK, 'n')
    refuses(t, generate, to, CONTENTS, 'generationConfig.candidateCount')
  }
  for (const to of [generate, messages, responses])
    t.notMatch(via(chat, to, { ...ASK, n: 1 }).body, /"n"|candidateCount/)
  const snake = { ...CONTENTS, generationConfig: { candidate_count: '2' } }
  t.equal(bodyOf(via(generate, chat, snake))['n'], 2, 'in any spelling')
})

/** What each answer comes to. */
function each(events: readonly AnswerEvent[], count: number): object[] {
  const others = (n: number): AnswerEvent[] =>
    events.flatMap(event => (event.type === 'other' && event.answer === n ? [event.event] : []))
  const first = events.filter(({ type }) => type !== 'other')
  return [first, ...Array.from({ length: count - 1 }, (_, n) => others(n + 1))].map(one => come(one))
}

/** Several answers, told in turns. */
function mixed(answers: readonly AnswerEvent[][]): AnswerEvent[] {
  const rest = answers.map(one => one.filter(({ type }) => type !== 'end'))
  const all: AnswerEvent[] = []
  while (rest.some(one => one.length > 0))
    rest.forEach((one, n) => {
      const event = one.shift()
      if (event === undefined || event.type === 'other') return
      if (n === 0) all.push(event)
      else if (event.type !== 'thinking' && event.type !== 'fail') all.push({ type: 'other', answer: n, event })
    })
  return [...all, { type: 'end' }]
}

t.test('answers arrive each as it was, in every form, however they are cut', async t => {
  const random = seeded(t)
  const pairs: [Translated, Translated][] = [
    [chat, generate],
    [generate, chat],
  ]
  for (let run = 0; run < 200; run++) {
    const [upstream, client] = random.pick(pairs)
    const count = random.int(2, 4)
    // answers of both protocols have a text for a refusal and for a thought, so that only texts are compared one by one
    const answers = Array.from({ length: count }, () => [...randomAnswer(random)])
    const ask = { answers: count }
    const forms = { events: random.next() < 0.5 }
    const bytes = writeAll(upstream, mixed(answers), usageOf(), { ...forms, ask })
    const read = readAll(upstream, cuts(random, bytes), { ...forms, answers: count })
    const toForms = { events: random.next() < 0.5, array: client === generate && random.next() < 0.3 }
    const told = writeAll(client, read, usageOf(), { ...toForms, ask })
    if (toForms.array) t.type(JSON.parse(told.toString()), Array, 'one array')
    // an array is read as the document of its chunks
    const again = readAll(client, cuts(random, told), { events: toForms.events && !toForms.array, answers: count })
    const name = `run ${run}: ${forms.events ? 'a stream' : 'a document'} of ${count}`
    if (!t.same(texts(each(again, count)), texts(each(read, count)), name)) return
    const letters = (all: readonly object[]) =>
      texts(all).map(({ text, thought }) => [...text, '|', ...thought].sort().join(''))
    if (!t.same(letters(each(read, count)), letters(answers.map(one => come(one))), `${name}, as it was told`)) return
  }
})

/** What both protocols can tell of an answer: refusals are texts in one of them. */
const texts = (answers: readonly object[]): { text: string; thought: string; calls: string }[] =>
  (answers as { blocks: { kind: string; text: string }[] }[]).map(({ blocks }) => {
    const of = (...kinds: string[]) => blocks.flatMap(({ kind, text }) => (kinds.includes(kind) ? [text] : [])).join('')
    return { text: of('text', 'refusal'), thought: of('thought'), calls: of('call').replace(/[\r\n]+/g, ' ') }
  })

const choice = (index: number, content: string, finish_reason: string | null = null): object => ({
  choices: [{ index, delta: { content }, finish_reason }],
})
const stream = (...events: object[]): Buffer =>
  Buffer.from(`${events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`)
const told = (bytes: Buffer, answers: number): Loose[] => {
  const events = readAll(chat, [bytes], { answers })
  const text = writeAll(generate, events, usageOf(), { ask: { answers } }).toString()
  return text.split('\n\n').flatMap(line => (line === '' ? [] : [JSON.parse(line.slice('data: '.length))]))
}

t.test('a stream of chat with two choices in turns', async t => {
  const bytes = stream(choice(1, 'Hel'), choice(0, 'Good'), choice(1, 'lo', 'length'), choice(0, ' day', 'stop'))
  const chunks = told(bytes, 2)
  const of = (n: number) => chunks.filter(({ candidates }) => candidates[0].index === n)
  for (const [n, text, reason] of [
    [0, 'Good day', 'STOP'],
    [1, 'Hello', 'MAX_TOKENS'],
  ] as const) {
    t.equal(
      of(n)
        .map(({ candidates }) => candidates[0].content.parts[0].text)
        .join(''),
      text,
    )
    t.equal(of(n).at(-1)?.['candidates'][0].finishReason, reason)
  }
  t.same(
    chunks.flatMap(({ usageMetadata }) => usageMetadata ?? []).length,
    1,
    'one usage, which is of all answers together',
  )
  t.ok(chunks.at(-1)?.['usageMetadata'], 'in the last chunk')
})

t.test('fewer answers than were asked for, and one that was cut', async t => {
  const given = told(stream(choice(0, 'Good day', 'stop')), 3)
  t.same([...new Set(given.map(({ candidates }) => candidates[0].index))], [0], 'what was not given is not told')
  const cut = readAll(chat, [stream(choice(0, 'Good day', 'stop'), choice(1, 'Hel'))], { answers: 2 })
  t.equal(cut.at(-1)?.type, 'fail', 'half an answer among others is no end')
  t.notOk(cut.some(({ type }) => type === 'end'))
})

t.test('documents have all answers, and one usage', async t => {
  const message = (content: string) => ({ role: 'assistant', content })
  const document = {
    id: 'c',
    choices: [
      { index: 1, message: message('two'), finish_reason: 'length' },
      { index: 0, message: message('one'), finish_reason: 'stop' },
    ],
  }
  const events = readAll(chat, [Buffer.from(JSON.stringify(document))], { events: false, answers: 2 })
  const ask = { answers: 2 }
  const back = JSON.parse(writeAll(chat, events, usageOf(), { events: false, ask }).toString())
  t.match(back.choices, [
    { index: 0, message: { content: 'one' }, finish_reason: 'stop' },
    { index: 1, message: { content: 'two' }, finish_reason: 'length' },
  ])
  const other = JSON.parse(writeAll(generate, events, usageOf(), { events: false, ask }).toString())
  t.match(other.candidates, [
    { index: 0, content: { parts: [{ text: 'one' }] }, finishReason: 'STOP' },
    { index: 1, content: { parts: [{ text: 'two' }] }, finishReason: 'MAX_TOKENS' },
  ])
  t.match(other.usageMetadata, { totalTokenCount: 16 })
})

t.test('a client that asked for one answer is told one', async t => {
  const events = readAll(chat, [stream(choice(1, 'x', 'stop'), choice(0, 'Good day', 'stop'))])
  t.match(come(events), { blocks: [{ text: 'Good day' }], stop: 'end' })
})
