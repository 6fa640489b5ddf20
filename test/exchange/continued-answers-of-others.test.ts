/** All customers share the upstream's account: `previous_response_id` must not open one customer's conversation to another. */
// The bug behind these rows: an answer of somebody else.
import t from 'tap'
import { Answers } from '../../lib/access/answer-owners.ts'
import type { AnswerMaker } from '../../lib/store/usage/queries.ts'
import type { Client } from './support/client.ts'
import { KEY, MODEL, NOTHING_LEFT, OTHER_KEY, open, type Scene } from './support/gateway.ts'
import type { Call } from './support/upstream.ts'
import { TestClock } from '../support/clock.ts'
import { wellStore } from '../support/store.ts'
import { until } from '../support/wait.ts'

const ID = 'resp_0123'
const COUNT = '/v1/responses/input_tokens'
const usage = { input_tokens: 10, output_tokens: 5 }
const response = (id: string, status: string) => ({ id, object: 'response', model: MODEL, status, output: [], usage })
const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`

const whole = (call: Call) => call.whole(200, response(ID, 'completed'))
function streamed(call: Call): void {
  call.stream()
  call.chunk(event('response.created', { response: { ...response(ID, 'in_progress'), usage: null } }))
  call.chunk(event('response.completed', { response: response(ID, 'completed') }))
  call.end()
}

const send = (scene: Scene, body: object, key = KEY, path = '/v1/responses'): Client =>
  scene.ask({ path, headers: { authorization: `Bearer ${key}` }, body: { model: MODEL, input: 'hi', ...body } })

async function finished(scene: Scene, client: Client): Promise<Client> {
  await until('the answer is there', () => {
    scene.clock.advance(50) // look-ups of an id that is not there are repeated for a second
    return client.answer.whole
  })
  return client
}

async function make(scene: Scene, script = whole): Promise<void> {
  for (const name of Object.keys(scene.asked())) scene.at(name).script = script
  await finished(scene, send(scene, {}))
}

for (const [form, script] of [
  ['document', whole],
  ['stream', streamed],
] as const) {
  t.test(`a ${form} is continued by whom it was made for, and by nobody else`, async t => {
    const scene = await open(t)
    await make(scene, script)
    t.equal((await finished(scene, send(scene, { previous_response_id: ID }))).status, 200)
    const asked = scene.at('a').calls.length
    const other = await finished(scene, send(scene, { previous_response_id: ID }, OTHER_KEY))
    t.equal(other.status, 404)
    const { error } = JSON.parse(other.text)
    t.match(error.message, /^未找到之前的响应 \(request id: /)
    t.same([error.type, error.param], ['invalid_request_error', 'previous_response_id'])
    t.equal(scene.at('a').calls.length, asked, 'the upstream was not asked')
    const { ok } = await scene.books()
    t.ok(ok)
  })
}

t.test('the row keeps the id, and another process finds it there', async t => {
  const scene = await open(t)
  await make(scene)
  const { rows } = await scene.books()
  t.equal(rows[0]?.answerId, ID)
  scene.services.answers = new Answers({ store: scene.store, clock: scene.clock, health: wellStore(scene.clock) })
  t.equal((await finished(scene, send(scene, { previous_response_id: ID }))).status, 200)
  t.equal((await finished(scene, send(scene, { previous_response_id: ID }, OTHER_KEY))).status, 404)
})

t.test('what does not name an answer of this account', async t => {
  const scene = await open(t)
  await make(scene)
  for (const [name, previous, status] of [
    ['null is none', null, 200],
    ['unknown', 'resp_x', 404],
    ['empty', '', 404],
    ['no string', { id: ID }, 404],
    ['longer than any', 'r'.repeat(5000), 404],
    ['half a surrogate pair', '\ud800', 404],
  ] as const) {
    const client = await finished(scene, send(scene, { previous_response_id: previous }))
    t.equal(client.status, status, name)
  }
})

t.test('the count of its tokens is asked by nobody else either', async t => {
  const scene = await open(t)
  await make(scene)
  t.equal((await finished(scene, send(scene, { previous_response_id: ID }, KEY, COUNT))).status, 200)
  t.equal((await finished(scene, send(scene, { previous_response_id: ID }, OTHER_KEY, COUNT))).status, 404)
})

t.test('only the channel and the key that made it are asked', async t => {
  const channels = { a: { weight: 1, priority: 0 }, b: { keys: [{ key: 'k1' }, { key: 'k2' }], priority: 0 } }
  for (let round = 0; round < 6; round++) {
    const scene = await open(t, { channels })
    await make(scene)
    const maker = scene.at('a').calls.length === 1 ? 'a' : 'b'
    const key = scene.at(maker).calls[0]?.header('authorization')
    for (let i = 0; i < 6; i++) await finished(scene, send(scene, { previous_response_id: ID }))
    t.equal(scene.asked()[maker], 7, 'every request went to the maker')
    t.ok(
      scene.at(maker).calls.every(call => call.header('authorization') === key),
      'with the key that made it',
    )
    scene.at(maker).script = call => call.whole(500, {})
    t.equal(
      (await finished(scene, send(scene, { previous_response_id: ID }))).status,
      500,
      'no other channel takes over',
    )
  }
})

t.test('an answer whose maker is switched off or has other keys reads like one that never was', async t => {
  for (const change of [{ status: 'disabled' as const }, { keys: [{ key: 'another', maxConcurrency: 0 }] }]) {
    const scene = await open(t, { channels: { a: {}, b: {} } })
    await make(scene)
    await scene.changeChannel('a', change)
    t.equal((await finished(scene, send(scene, { previous_response_id: ID }))).status, 404)
    t.equal((await finished(scene, send(scene, {}))).status, 200, 'without it, the other channel serves')
  }
})

t.test('that all channels rest is said before an earlier answer is not found', async t => {
  const scene = await open(t)
  await make(scene)
  t.equal((await finished(scene, send(scene, { previous_response_id: 'resp_x' }))).status, 404)
  scene.at('a').script = call => call.whole(429, {}, { 'retry-after': '30' })
  t.equal((await finished(scene, send(scene, {}))).status, 429)
  const client = await finished(scene, send(scene, { previous_response_id: 'resp_x' }))
  t.equal(client.status, 429)
  t.match(client.text, /当前分组上游负载已饱和/)
  t.equal((await finished(scene, send(scene, { previous_response_id: 'resp_x' }, KEY, COUNT))).status, 404, 'a count')
  t.match(await scene.books(), { ok: true, left: NOTHING_LEFT })
})

t.test('an id that is not in the store yet is looked up again for a second', async t => {
  const clock = new TestClock()
  let asked = 0
  const maker: AnswerMaker = { channel: 'a', key: 'f' }
  const answers = new Answers({
    clock,
    health: wellStore(clock),
    store: { usage: { answerMaker: async () => (++asked < 4 ? null : maker) } },
  })
  let found: AnswerMaker | null | undefined
  void Promise.resolve(answers.find(1, ID)).then(answer => (found = answer))
  await until('it is found', () => {
    clock.advance(10)
    return found !== undefined
  })
  t.same(found, maker)
  t.equal(asked, 4)
  t.same(answers.find(1, ID), maker, 'and remembered')
  t.ok(answers.find(2, ID) instanceof Promise, 'for this account only')
})
