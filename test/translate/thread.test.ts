/** Large bodies are translated by another thread: with the same result as here, in a queue that is bounded, and past a thread that dies. */
import t from 'tap'
import type { Protocol } from '../../lib/terms/records.ts'
import type { Untranslatable, AnswerEvent } from '../../lib/translate/events.ts'
import { issuerOf } from '../../lib/translate/opaque.ts'
import { plainTarget } from '../../lib/translate/ask.ts'
import { TRANSLATED, translated } from '../../lib/translate/table.ts'
import {
  type AnswerJob,
  type Done,
  type Job,
  type RequestJob,
  type Result,
  TranslationThread,
} from '../../lib/translate/thread.ts'
import { translateRequest, readDocument } from '../../lib/translate/table.ts'
import { type Random, cut, seeded } from '../support/random.ts'
import { randomAnswer, usageOf, writeAll } from './support/answers.ts'
import { randomAsk } from './support/asks.ts'

const RUNS = 60
const REQUEST_ID = '01abc'
const over: string[] = []
const thread = new TranslationThread({
  onOver: (what, outcome) => over.push(`${what} ${outcome}`),
  onDied: error => t.fail(error.message),
})

const own = (text: string | Buffer): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text as string, 'latin1'))
const run = (job: Job, on = thread): Promise<Result> =>
  new Promise(resolve => {
    on.run(1, job.what, () => job, resolve)
  })

/** As the thread answers, but here. */
function inline(job: Job, bytes: Buffer): Done {
  let isRead = false
  try {
    if (job.what === 'answer') return { what: 'answer', events: readDocument(bytes, job.via, { ...job.options }) }
    const ask = translated(job.protocol).readRequest(bytes, job.head)
    isRead = true
    const { body, target: _, ...written } = translateRequest(ask, job.via, job.target)
    return { what: 'request', written: { ...written, body: own(body) } }
  } catch (error) {
    return { what: 'unfit', field: (error as Untranslatable).field, isRead }
  }
}

function randomRequest(random: Random): { job: RequestJob; bytes: Buffer } {
  const protocol = random.pick(TRANSLATED)
  const via = random.pick(TRANSLATED)
  const takes = { media: ['image', 'document'], thoughts: true, systemTurns: true } as const
  const ask = randomAsk(random, takes, issuerOf(protocol, 'm'))
  const written = translated(protocol).writeRequest(ask, { ...plainTarget('m'), thinking: 'adaptive' }).body
  // what no other protocol can say, and what only readers of bytes know
  const odd = random.pick([
    '',
    '',
    '"n":2,"previous_response_id":"x","candidateCount":2,"container":"c",',
    '"é":[1.0],',
  ])
  const bytes = Buffer.from(`{${odd}${written.slice(1)}`, 'latin1')
  const head = { model: 'model', stream: ask.stream }
  return { job: { what: 'request', bytes: own(bytes), protocol, head, via, target: plainTarget('m') }, bytes }
}

function randomDocument(random: Random): { job: AnswerJob; bytes: Buffer } {
  const via = random.pick(TRANSLATED)
  const whole = writeAll(translated(via), randomAnswer(random), usageOf(), { events: false })
  const bytes = random.next() < 0.1 ? (cut(random, whole)[0] ?? whole) : whole
  const options = { events: false, issuer: 'abcdefghijkl', renamed: new Map(), requestId: REQUEST_ID, isLenient: false }
  return { job: { what: 'answer', bytes: own(bytes), via, options }, bytes }
}

t.test('the thread writes the same requests and reads the same documents as the main thread', async t => {
  const random = seeded(t)
  const seen = new Set<string>()
  for (let n = 0; n < RUNS; n++) {
    const { job, bytes } = n % 2 === 0 ? randomRequest(random) : randomDocument(random)
    const expected = structuredClone(inline(job, bytes)) // what is an object of a class here is plain data behind the thread
    const name = `run ${n}: ${job.what} ${job.what === 'request' ? `${job.protocol} to ` : ''}${job.via}`
    const got = await run(job)
    seen.add(got.what)
    if (!t.strictSame(got, expected, name)) return
  }
  t.same([...seen].sort(), ['answer', 'request', 'unfit'])
})

const asked = (text: string, protocol: Protocol = 'chat'): RequestJob => ({
  what: 'request',
  bytes: own(`{"messages":[{"role":"user","content":${JSON.stringify(text)}}]}`),
  protocol,
  head: { model: 'm', stream: false },
  via: 'messages',
  target: plainTarget('m'),
})

t.test('jobs are done in their order, can be called off, and are refused when too many wait', async t => {
  over.length = 0
  const done: string[] = []
  const jobs = Array.from({ length: 40 }, (_, n) =>
    thread.run(
      1,
      'request',
      () => asked(`${n}`),
      result => done.push(`${n} ${result.what}`),
    ),
  )
  jobs[2]?.cancel()
  jobs[0]?.cancel() // it is being done
  const answer: Promise<Result> = run(randomDocument(seeded(t)).job)
  t.same(done, [], 'nothing is answered at once')
  t.equal((await answer).what, 'answer', 'an answer is taken although no request is')
  t.equal(done.filter(one => one.endsWith(' full')).length, 40 - 33, 'one is done and 32 wait')
  const finished = done.filter(one => one.endsWith(' request')).map(one => Number.parseInt(one, 10))
  t.same(finished, [1, ...Array.from({ length: 30 }, (_, n) => n + 3)])
  jobs[1]?.cancel() // too late
  t.same(over.filter(one => one === 'request left').length, 2)
})

t.test('a fault is told and ends nothing', async t => {
  const fault = await run({ ...asked('x'), protocol: 'none' as Protocol })
  t.match(fault, { what: 'fault', message: /TypeError/ })
  t.equal((await run(asked('x'))).what, 'request')
})

t.test('a thread that dies of a body takes that one with it, and no other', async t => {
  const died: string[] = []
  const outcomes: string[] = []
  const small = new TranslationThread(
    {
      onOver: (_, outcome) => outcomes.push(outcome),
      onDied: error => died.push((error as { code?: string }).code ?? ''),
    },
    24,
  )
  const many = `{"messages":[${'{"role":"user","content":"x"},'.repeat(90_000)}{"role":"user","content":"x"}]}`
  const results = await Promise.all([
    run({ ...asked('x'), bytes: own(many) }, small),
    run(asked('y'), small),
    run(asked('z'), small),
  ])
  t.same(
    results.map(({ what }) => what),
    ['died', 'request', 'request'],
  )
  t.same(died, ['ERR_WORKER_OUT_OF_MEMORY'])
  t.same(outcomes, ['died', 'done', 'done'])
})

const events = (found: readonly AnswerEvent[]): string[] => found.map(({ type }) => type)
t.test('a document that is none is a failure among the events', async t => {
  const options = { events: false, issuer: 'x', renamed: new Map(), requestId: REQUEST_ID, isLenient: false }
  const got = await run({ what: 'answer', bytes: own('[1'), via: 'chat', options })
  t.same(got.what === 'answer' && events(got.events), ['fail'])
})
