/** Channels without a plain key in the catalogue: what is read, what is refused, and that nothing of it is quoted or kept in the open. */
import t from 'tap'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { ConfigError } from '../../lib/config/config.ts'
import { upstreamCredential } from '../../lib/catalog-file/upstreams.ts'
import { rsaKey } from '../support/vertex.ts'

type Json = Record<string, unknown>

const { privateKey } = rsaKey()
const FILE = {
  type: 'service_account',
  project_id: 'p',
  client_email: 'a@p.iam.gserviceaccount.com',
  private_key: privateKey,
}
const text = (change: Json = {}) => JSON.stringify({ ...FILE, ...change })
const PLACE = '/v1/projects/p-1/locations/us-east5'
const BASE = { name: 'v', protocols: ['messages'], groups: ['default'], models: ['m'] }
const VERTEX = {
  ...BASE,
  kind: 'vertex',
  base_url: `https://us-east5-aiplatform.googleapis.com${PLACE}`,
  service_account: text(),
}
const AWS = {
  access_key_id: 'AKIAIOSFODNN7EXAMPLE',
  secret_access_key: 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
}
const parse = (channel: Json, env = {}) => parseCatalog(JSON.stringify({ channels: [channel] }), 'cat.yaml', env)

t.test('a service account as Google gives it: as a text, as a map, by a variable, several of them', async t => {
  const wanted = {
    form: 'service_account',
    email: FILE.client_email,
    privateKey,
    tokenUri: 'https://oauth2.googleapis.com/token',
  }
  const other = text({ client_email: 'b@p.iam.gserviceaccount.com', token_uri: 'http://127.0.0.1:8080/token' })
  const several = {
    ...VERTEX,
    service_account: undefined,
    keys: [{ service_account: text() }, { service_account: other, max_concurrency: 3 }],
  }
  for (const [channel, env] of [
    [VERTEX],
    [{ ...VERTEX, service_account: FILE }],
    [{ ...VERTEX, service_account: `\${V}` }, { V: text() }],
    [several],
  ] as [Json, Json?][]) {
    const [row] = parse(channel, env).channels
    t.same(upstreamCredential('vertex', row?.keys[0]?.key ?? ''), wanted)
  }
  const [row] = parse(several).channels
  t.match(upstreamCredential('vertex', row?.keys[1]?.key ?? ''), { email: 'b@p.iam.gserviceaccount.com' })
  t.equal(row?.keys[1]?.maxConcurrency, 3)
  const hosts: [host: string, location: string][] = [
    ['aiplatform.googleapis.com', 'global'],
    ['aiplatform.us.rep.googleapis.com', 'us'],
    ['europe-west1-aiplatform.googleapis.com', 'europe-west1'],
    ['127.0.0.1', 'us-east5'],
    ['vertex.proxy.example', 'us-east5'],
  ]
  for (const [host, location] of hosts)
    t.doesNotThrow(() => parse({ ...VERTEX, base_url: `https://${host}/v1/projects/p-1/locations/${location}/` }), host)
})

const BEDROCK = { ...BASE, kind: 'bedrock', base_url: 'https://bedrock-runtime.us-east-1.amazonaws.com', aws: AWS }

t.test('keys of AWS: of one channel, several of them, temporary ones', async t => {
  const wanted = {
    form: 'aws',
    accessKeyId: AWS.access_key_id,
    secretAccessKey: AWS.secret_access_key,
    sessionToken: null,
    region: 'us-east-1',
  }
  const list = { ...BEDROCK, aws: undefined, keys: [{ aws: AWS }, { aws: { ...AWS, session_token: 'IQo+/=' } }] }
  t.same(upstreamCredential('bedrock', parse(BEDROCK).channels[0]?.keys[0]?.key ?? ''), wanted)
  const [first, second] = parse(list).channels[0]?.keys ?? []
  t.same(upstreamCredential('bedrock', first?.key ?? ''), wanted)
  t.same(upstreamCredential('bedrock', second?.key ?? ''), { ...wanted, sessionToken: 'IQo+/=' })
  const models = { m: 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc' }
  t.same(parse({ ...BEDROCK, models }).channels[0]?.models, models)
  for (const base_url of ['http://127.0.0.1:4000', 'https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com'])
    t.doesNotThrow(() => parse({ ...BEDROCK, base_url }), base_url)
})

t.test('half of it, the wrong one, or too much of it is refused, and never quoted', async t => {
  const { service_account: _, ...without } = VERTEX
  const rows: [channel: Json, expected: RegExp][] = [
    [without, /channels\[0\]\.key: expected service_account \(the kind vertex takes no plain key\), or a list of them/],
    [{ ...without, key: 'up-secret' }, /expected service_account .*, and no key/],
    [{ ...without, aws: AWS }, /expected service_account .*, and no aws/],
    [{ ...VERTEX, key: 'up-secret' }, /expected service_account .*, and no key/],
    [{ ...VERTEX, keys: [{ service_account: text() }] }, /expected either service_account or keys/],
    [{ ...without, keys: [{ service_account: text() }, { max_concurrency: 1 }] }, /service_account .* in keys\[1\]/],
    [{ ...without, keys: [{ service_account: text() }, { service_account: FILE }] }, /expected keys that differ/],
    [{ ...VERTEX, auth: { header: 'x-key' } }, /expected service_account .*, and no auth/],
    [{ ...VERTEX, kind: 'anthropic' }, /expected an upstream key, and no service_account/],
    [{ ...BASE, base_url: 'https://up.example', aws: AWS }, /expected an upstream key, and no aws/],
    [
      { ...BASE, base_url: 'https://up.example', key: 'k', aws: { ...AWS, region: undefined } },
      /aws\.region: expected a region/,
    ],
    [{ ...BEDROCK, aws: undefined }, /expected aws \(the kind bedrock takes no plain key\)/],
    [{ ...BEDROCK, key: 'up-secret' }, /expected aws .*, and no key/],
    [{ ...BEDROCK, kind: 'bedrock-api-key' }, /expected an upstream key, and no aws/],
    [{ ...BEDROCK, aws: { ...AWS, secret_access_key: undefined } }, /secret_access_key: expected a secret access key/],
    [{ ...BEDROCK, aws: { ...AWS, access_key_id: 'x' } }, /access_key_id: expected an access key id/],
    [{ ...BEDROCK, aws: { ...AWS, region: 'eu-west-1' } }, /base_url: expected a host in eu-west-1, the region of the/],
    [
      { ...BEDROCK, aws: undefined, keys: [{ aws: AWS }, { aws: { ...AWS, region: 'eu-west-1' } }] },
      /base_url: expected a host in eu-west-1/,
    ],
    [{ ...BEDROCK, protocols: ['images'] }, /kind: expected a kind that speaks images/],
    ...[
      'not JSON',
      text({ type: 'authorized_user' }),
      text({ client_email: undefined }),
      text({ private_key: 'k' }),
      text({ private_key: undefined }),
      text({ token_uri: 'http://oauth2.googleapis.com/token' }),
      text({ token_uri: 'https://u:p@oauth2.googleapis.com/token' }),
      text({ token_uri: 'file:///etc/passwd' }),
    ].map((file): [Json, RegExp] => [
      { ...VERTEX, service_account: file },
      /service_account: expected the JSON key file of a service account/,
    ]),
    ...[
      'https://us-east5-aiplatform.googleapis.com',
      `https://aiplatform.googleapis.com${PLACE}`,
      `https://us-west1-aiplatform.googleapis.com${PLACE}`,
      'https://us-east5-aiplatform.googleapis.com/v1/projects/p-1',
      `https://us-east5-aiplatform.googleapis.com${PLACE}/publishers`,
    ].map((base_url): [Json, RegExp] => [
      { ...VERTEX, base_url },
      /base_url: expected an address like https:\/\/LOCATION-aiplatform/,
    ]),
    [{ ...VERTEX, protocols: ['images'] }, /kind: expected a kind that speaks images/],
  ]
  for (const [channel, expected] of rows) {
    let said = ''
    try {
      parse(channel)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      said = error.message
    }
    t.match(said, expected)
    t.notMatch(said, /up-secret|PRIVATE KEY|wJalr|gserviceaccount\.com/, said)
  }
})

t.test('what tells files apart keeps credentials apart from the rest; that of plain keys is as it was', async t => {
  const [vertex] = parse(VERTEX).texts.channels
  t.notMatch(vertex?.row, /PRIVATE KEY/)
  t.match(vertex?.secret, /PRIVATE KEY/)
  const [several] = parse({
    ...VERTEX,
    service_account: undefined,
    keys: [{ service_account: FILE, max_concurrency: 2 }],
  }).texts.channels
  t.notMatch(several?.row, /PRIVATE KEY/)
  t.match(several?.row, /"max_concurrency":"2"/)
  t.match(several?.secret, /PRIVATE KEY/)
  const entra = { tenant: 'contoso.example', client_id: 'c-1', client_secret: 'its-very-own-words' }
  const azure = { ...BASE, kind: 'azure-entra', base_url: 'https://r.openai.azure.com' }
  for (const channel of [
    { ...azure, entra },
    { ...azure, keys: [{ entra }] },
  ]) {
    const [row] = parse(channel).texts.channels
    t.notMatch(row?.row, /its-very-own-words/)
    t.match(row?.secret, /its-very-own-words/)
  }
  const plain = { ...BASE, base_url: 'https://up.example' }
  t.equal(parse({ ...plain, key: 'k' }).texts.channels[0]?.secret, '["k",,,[]]')
  t.equal(parse({ ...plain, keys: [{ key: 'k' }, { key: 'l' }] }).texts.channels[0]?.secret, '[,["k","l"],,[]]')
})
