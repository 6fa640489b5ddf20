/** Large bodies are translated by another thread: with the same result as here, in a queue that is bounded, and past a thread that dies. */
import t from 'tap'
import type { Protocol } from '../../lib/protocols/names.ts'
import type { Untranslatable } from '../../lib/translate/events.ts'
import { issuerOf } from '../../lib/translate/opaque.ts'
import { plainTarget } from '../../lib/translate/ask.ts'
import { TRANSLATED, translated } from '../../lib/translate/table.ts'
import {
  type AnswerJob,
  type Done,
  type Job,
  type RequestJob,
  type Result,
  threadsFor,
  TranslationThreads,
} from '../../lib/translate/thread.ts'
import { translateRequest, withUsage } from '../../lib/translate/table.ts'
import { type Random, seeded } from '../support/random.ts'
import { randomAnswer, readAll, tell, usageOf, writeAll, writerOptions } from './support/answers.ts'
import { randomAsk } from './support/asks.ts'

const RUNS = 60
const REQUEST_ID = '01abc'
const OPTIONS = { events: false, issuer: 'abcdefghijkl', renamed: new Map(), requestId: REQUEST_ID, isLenient: false }
const over: string[] = []
const thread = new TranslationThreads({
  onOver: (what, outcome) => over.push(`${what} ${outcome}`),
  onDied: error => t.fail(error.message),
})

const own = (text: string | Buffer): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text as string, 'latin1'))
const run = (job: Job, on = thread): Promise<Result> =>
  new Promise(resolve => {
    on.run(1, job.what, () => job, resolve)
  })

const USAGE = usageOf({ cache_read: 7, cache_write_1h: 12 })

/** What a client gets of an answer that a thread wrote; null = it failed. */
function toldOf(result: Result, job: AnswerJob): string | null {
  if (result.what !== 'answer') return result.what
  const { written } = result
  if (written.failure !== null) return null
  const before = Buffer.from(written.bytes.slice(0, written.told)).toString('latin1')
  const usage = translated(job.to).answerWriter(job.writer).usageText(USAGE, written.thinking)
  return before + withUsage(written, usage).toString('latin1')
}

/** The same, written here. */
function toldHere(job: AnswerJob, bytes: Buffer): string | null {
  const writer = translated(job.to).answerWriter(job.writer)
  const events = readAll(translated(job.via), [bytes], job.options)
  const told = tell(writer, events)
  return events.at(-1)?.type === 'fail' || writer.failure !== null ? null : told + writer.finish(USAGE)
}

/** As the thread writes requests, but here. */
function inline(job: RequestJob, bytes: Buffer): Done {
  let isRead = false
  try {
    const ask = translated(job.protocol).readRequest(bytes, job.head)
    isRead = true
    const { body, target: _, ...written } = translateRequest(ask, job.via, job.target)
    return { what: 'request', written: { ...written, body: own(Buffer.concat(body)) } }
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
  return {
    job: { what: 'request', bytes: own(bytes), longStrings: [], protocol, head, via, target: plainTarget('m') },
    bytes,
  }
}

/** `isCut`: it breaks off in its first half. */
function randomDocument(random: Random, isCut = false): { job: AnswerJob; bytes: Buffer } {
  const via = random.pick(TRANSLATED)
  const whole = writeAll(translated(via), randomAnswer(random), usageOf(), { events: false })
  const bytes = isCut ? whole.subarray(0, random.int(1, whole.length >> 1)) : whole
  const to = random.pick(TRANSLATED)
  const writer = writerOptions({ events: random.next() < 0.5, array: random.next() < 0.2 })
  return { job: { what: 'answer', parts: [own(bytes)], via, options: OPTIONS, to, writer }, bytes }
}

t.test('a thread writes the same requests as the main thread', async t => {
  const random = seeded(t)
  const seen = new Set<string>()
  for (let n = 0; n < RUNS; n++) {
    const { job, bytes } = randomRequest(random)
    const expected = structuredClone(inline(job, bytes)) // what is an object of a class here is plain data behind the thread
    const got = await run(job)
    seen.add(got.what)
    if (!t.strictSame(got, expected, `run ${n}: ${job.protocol} to ${job.via}`)) return
  }
  t.same([...seen].sort(), ['request', 'unfit'])
})

t.test('a thread writes the same answers as the main thread, byte for byte, with the usage in its place', async t => {
  const random = seeded(t)
  let failed = 0
  for (let n = 0; n < RUNS; n++) {
    const { job, bytes } = randomDocument(random, n % 10 === 0)
    const expected = toldHere(job, bytes)
    if (expected === null) failed++
    const { events, array } = job.writer
    const form = events ? 'a stream' : array ? 'an array' : 'a document'
    if (!t.equal(toldOf(await run(job), job), expected, `run ${n}: ${job.via} to ${job.to}, ${form}`)) return
  }
  t.ok(failed > 0 && failed < RUNS / 2, `${failed} of them were no answers`)
})

t.test('what an answer says in the words of our usage is not taken for the place of its usage', async t => {
  const { job: some } = randomDocument(seeded(t))
  const args = JSON.stringify({ usage: { input_tokens: 0 }, a: '"usage":{"input_tokens":0' })
  const message = { tool_calls: [{ id: 'c', function: { name: 'f', arguments: args } }] }
  const bytes = Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }))
  const writer = writerOptions({ events: false })
  const job: AnswerJob = { ...some, parts: [own(bytes)], via: 'chat', to: 'messages', writer }
  const told = toldOf(await run(job), job)
  t.equal(told, toldHere(job, bytes))
  t.match(JSON.parse(told as string), { content: [{ input: JSON.parse(args) }], usage: { input_tokens: 11 } })
})

const asked = (text: string, protocol: Protocol = 'chat'): RequestJob => ({
  what: 'request',
  longStrings: [],
  bytes: own(`{"messages":[{"role":"user","content":${JSON.stringify(text)}}]}`),
  protocol,
  head: { model: 'm', stream: false },
  via: 'messages',
  target: plainTarget('m'),
})

t.test(
  'jobs are done in their order, can be called off, and are refused when too many wait (overflow of the queue)',
  async t => {
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
  },
)

t.test('a fault is told and ends nothing', async t => {
  const fault = await run({ ...asked('x'), protocol: 'none' as Protocol })
  t.match(fault, { what: 'fault', message: /TypeError/ })
  t.equal((await run(asked('x'))).what, 'request')
})

t.test('a thread that dies of a body takes that one with it, and no other', async t => {
  const died: string[] = []
  const outcomes: string[] = []
  const small = new TranslationThreads(
    {
      onOver: (_, outcome) => outcomes.push(outcome),
      onDied: error => died.push((error as { code?: string }).code ?? ''),
    },
    { heapMib: 24 },
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

t.test('a job that takes too long ends its thread, and the next one has another', async t => {
  const died: string[] = []
  const brief = new TranslationThreads(
    { onOver: () => {}, onDied: error => died.push(error.message) },
    { longestMs: 1 }, // less than a thread takes to start
  )
  const results = await Promise.all([run(asked('x'), brief), run(asked('y'), brief)])
  t.same(
    results.map(({ what }) => what),
    ['died', 'died'],
  )
  t.same(died, ['the thread has ended', 'the thread has ended'])
})

t.test('a document that is none is a failure', async t => {
  const writer = writerOptions({ events: false })
  const job: AnswerJob = { what: 'answer', parts: [own('[1')], via: 'chat', options: OPTIONS, to: 'messages', writer }
  t.match(await run(job), { what: 'answer', written: { told: 0, hasContent: false, failure: { status: 502 } } })
})

t.test('several threads work at the same time, share one queue, and each dies alone', async t => {
  const died: string[] = []
  const four = new TranslationThreads(
    { onOver: () => {}, onDied: error => died.push((error as { code?: string }).code ?? '') },
    { threads: 4, heapMib: 24 },
  )
  const many = `{"messages":[${'{"role":"user","content":"x"},'.repeat(90_000)}{"role":"user","content":"x"}]}`
  const begun: string[] = []
  const done: string[] = []
  const results = await Promise.all(
    Array.from(
      { length: 12 },
      (_, n) =>
        new Promise<Result>(resolve =>
          four.run(
            1 + (n % 3),
            'request',
            () => {
              begun.push(`${n} after ${done.length}`)
              return n === 2 ? { ...asked('x'), bytes: own(many) } : asked('y')
            },
            result => {
              done.push(`${n}`)
              resolve(result)
            },
          ),
        ),
    ),
  )
  t.same(begun.slice(0, 4), ['0 after 0', '1 after 0', '2 after 0', '3 after 0'], 'four at once')
  t.same(
    results.map(({ what }) => what),
    Array.from({ length: 12 }, (_, n) => (n === 2 ? 'died' : 'request')),
  )
  t.same(died, ['ERR_WORKER_OUT_OF_MEMORY'])
})

t.test('as many threads as there are processors that nobody uses', t => {
  const rows: [processes: number, processors: number, threads: number][] = [
    [1, 1, 1],
    [1, 2, 1],
    [1, 4, 3],
    [1, 64, 4],
    [2, 8, 3],
    [4, 4, 1],
    [8, 4, 1],
    [8, 64, 4],
  ]
  for (const [processes, processors, threads] of rows)
    t.equal(threadsFor(processes, processors), threads, `${processes} processes, ${processors} processors`)
  t.end()
})
