/** Channels without a plain key by the admin API: their credentials are never shown, and stay when a row is sent back without them. */
import t from 'tap'
import { rsaKey } from '../support/vertex.ts'
import { openOps } from './support.ts'

const file = () =>
  JSON.stringify({
    type: 'service_account',
    client_email: 'a@p.iam.gserviceaccount.com',
    private_key: rsaKey().privateKey,
  })
const CHANNEL = {
  base_url: 'https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5',
  kind: 'vertex',
  protocols: ['messages'],
  groups: ['default'],
  models: ['m'],
}

t.test('a service account', async t => {
  const ops = await openOps(t)
  const put = (sent: object) => ops.admin('PUT', '/admin/channels/v', sent)
  const keys = async () => (await ops.store.catalogue.read()).channels[0]?.keys.map(one => one.key) ?? []
  const answers: string[] = []
  const refused = await put(CHANNEL)
  t.match([refused.status, refused.error.message], [400, /^key: expected service_account \(the kind vertex/])
  const [one, other] = [file(), file()]
  const shown = await put({ ...CHANNEL, service_account: one })
  const first = await keys()
  answers.push(shown.text, (await put({ ...shown.json, weight: 5 })).text)
  t.same(await keys(), first, 'a row that is sent back keeps it')
  answers.push((await put({ ...CHANNEL, service_account: JSON.parse(other) })).text)
  const second = await keys()
  t.not(second[0], first[0])
  const both = { ...CHANNEL, keys: [{ max_concurrency: 2 }, { service_account: one }] }
  answers.push((await put(both)).text)
  t.same(await keys(), [...second, ...first], 'a row of keys that has none keeps its own')
  const plain = await put({ ...CHANNEL, kind: 'anthropic', base_url: 'https://up.example' })
  t.match([plain.status, plain.error.message], [400, /^key: expected an upstream key, and no service_account/])
  answers.push(plain.text, (await ops.admin('GET', '/admin/channels')).text, ops.logged.join(''))
  const actions = JSON.stringify(await ops.store.actions.page({ limit: 100 }))
  for (const said of [...answers, actions]) t.notMatch(said, /PRIVATE|gserviceaccount|private_key|privateKey/)
})

t.test('a stored key goes no other way than before, unless it is entered again', async t => {
  const ops = await openOps(t)
  const channel = {
    ...{ base_url: 'https://up.example/v1', protocols: ['chat'], groups: ['default'], models: ['m'] },
    headers: { 'x-secret-token': '=hunter2' },
  }
  const put = (sent: object) => ops.admin('PUT', '/admin/channels/one', sent)
  const reset = () => put({ ...channel, proxy: null, ca: null, auth: null, key: 'up-secret' })
  t.equal((await reset()).status, 200)
  const ways = [
    { base_url: 'https://evil.example/v1' },
    { base_url: 'https://up.example.evil.example/v1' },
    { base_url: 'https://up.example:8443/v1' },
    { proxy: 'http://evil.example:3128' },
    { auth: { header: 'x-other' } },
  ]
  for (const way of ways) {
    const [name] = Object.keys(way)
    const { status, error } = await put({ ...channel, ...way })
    t.match([status, error.message], [400, new RegExp(`^key: enter the key again.*${name}`)], JSON.stringify(way))
    t.equal((await put({ ...channel, ...way, keys: [{ max_concurrency: 3 }] })).status, 400, 'nor by a row without it')
    t.equal((await put({ ...channel, ...way, keys: [{ key: 'up-secret' }, {}] })).status, 400, 'nor beside another')
    t.equal((await put({ ...channel, ...way, keys: [{ key: 'up-secret' }] })).status, 200, 'who has it enters it')
    t.equal((await reset()).status, 200)
  }
  const shown = (await ops.admin('GET', '/admin/channels/one')).json
  t.match(JSON.stringify(shown['headers']), /x-secret-token/)
  t.notMatch(JSON.stringify(shown), /hunter2/)
  const { key: _, keys: __, ...rest } = shown
  const moved = await put({ ...rest, base_url: 'https://evil.example', key: 'mine' })
  t.match([moved.status, moved.error.message], [400, /and the headers that are secret/], 'a secret header neither')
  t.equal(
    (await put({ ...channel, base_url: 'https://up.example/v2', weight: 7 })).status,
    200,
    'another path is the same way',
  )
})
