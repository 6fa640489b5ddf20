/** Trying a key out: every protocol, the order of the stages, and that nothing is left of it. */
import t from 'tap'
import { dryRun, type Trial } from '../../lib/exchange/dry-run.ts'
import { hashOf } from '../../lib/base/secrets.ts'
import { CLIENT_PROTOCOLS } from '../../lib/protocols/names.ts'
import { SETUP } from '../support/store.ts'
import { KEY, MODEL, NOTHING_LEFT, OTHER_KEY, open, POOR_KEY } from './support/gateway.ts'

const trial = (change: Partial<Trial> & { secret?: string } = {}): Trial => {
  const { secret = KEY, ...rest } = change
  return { keyHash: hashOf(secret), address: '192.0.2.1', model: MODEL, protocol: 'chat', english: false, ...rest }
}
const FINE = { stage: null, reason: null, status: null, message: null }

t.test('every protocol', async t => {
  const prices = { input: 2, output: 8, image: 0.5, request: 1, second: 1, character: 1 }
  const s = await open(t, { prices: { [MODEL]: prices }, channels: { a: { protocols: [...CLIENT_PROTOCOLS] } } })
  for (const protocol of CLIENT_PROTOCOLS) t.same(await dryRun(s.services, trial({ protocol })), FINE, protocol)
  const { rows, left } = await s.books()
  t.same([rows, left], [[], NOTHING_LEFT])
  t.same(s.asked(), { a: 0 }, 'no upstream was asked')
})

t.test('what is taken is given back, and nothing is counted as a request', async t => {
  const s = await open(t, { config: { limits: { concurrency: 1 } }, rate: 4 })
  for (let i = 0; i < 3; i++) t.same(await dryRun(s.services, trial()), FINE, 'one place, taken and given back')
  t.match(await dryRun(s.services, trial({ model: 'nope' })), { stage: 'candidates', status: 400 })
  t.match(
    await dryRun(s.services, trial()),
    { stage: 'throttle', status: 429 },
    'it counts in the rate, as a request does',
  )
  t.equal(s.services.openCount, 0)
  t.equal(await s.metric('gateway_requests_total'), undefined)
  t.equal(await s.metric('gateway_refusals_total'), undefined)
  await s.services.refusals.stop()
  t.equal(s.logged.filter(line => line['refusal'] !== undefined).length, 0)
  t.same((await s.books()).left, NOTHING_LEFT)
})

t.test('a refusal has the stage, the status and the text of a real one', async t => {
  const s = await open(t)
  const key = (await s.store.keys.list())[0]!
  const set = async (change: Parameters<typeof s.store.keys.update>[1]) => {
    await s.store.keys.update(key.id, change, SETUP)
    await s.follow()
  }
  t.match(await dryRun(s.services, trial({ secret: 'sk-nobody' })), { stage: 'authenticate', message: '无效的令牌' })
  t.match(await dryRun(s.services, trial({ secret: 'sk-nobody', english: true })), { message: 'Invalid token' })
  t.match(await dryRun(s.services, trial({ secret: POOR_KEY })), { stage: 'reserve', status: 403 })
  await set({ allowIps: ['10.0.0.0/8'] })
  t.match(await dryRun(s.services, trial()), { stage: 'admit', reason: 'ip', status: 403 })
  t.same(await dryRun(s.services, trial({ address: '10.9.9.9' })), FINE)
  await set({ allowIps: null, models: [] })
  t.match(await dryRun(s.services, trial()), { stage: 'model', message: `该令牌无权访问模型 ${MODEL}` })
  await set({ models: null, status: 'disabled' })
  t.match(await dryRun(s.services, trial()), { stage: 'authenticate', status: 401 })
  await s.changeChannel('a', { status: 'disabled' })
  t.match(await dryRun(s.services, trial({ secret: OTHER_KEY })), { stage: 'candidates', status: 503 })
  t.same((await s.books()).left, NOTHING_LEFT)
})
