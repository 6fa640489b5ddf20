/** The config of payments: a method is whole or absent, and test environments never mix with real money. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { HDKey } from '@scure/bip32'
import t from 'tap'
import { stringify } from 'yaml'
import { ConfigError, parseConfig } from '../../lib/config/config.ts'
import { payAddressWarnings } from '../../lib/config/pay-schema.ts'
import { addressAt } from '../../lib/config/xpub.ts'

const pair = (modulusLength = 2048) =>
  generateKeyPairSync('rsa', {
    modulusLength,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
const { privateKey, publicKey: ownPublicKey } = pair()
const { privateKey: foreignPrivateKey, publicKey } = pair()
/** As providers' tools write keys: without the lines at both ends. */
const bare = (pem: string): string => pem.replace(/-----.*-----|\n/g, '')

const alipay = {
  app_id: '2021000000000001',
  seller_id: '2088000000000001',
  private_key: privateKey,
  alipay_public_key: publicKey,
}
const wechat = {
  mchid: '1900000001',
  appid: 'wx0000000000000001',
  serial: 'ABCDEF0123456789',
  private_key: privateKey,
  api_v3_key: '0123456789abcdef0123456789abcdef',
  public_keys: [{ id: 'PUB_KEY_ID_0119', key: publicKey }],
}
const card = {
  secret_key: 'sk_live_0123456789',
  webhook_secret: 'whsec_0123456789abcdef',
  account: 'acct_0123456789',
}
const purse = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/3'")
const { publicExtendedKey: xpub, privateExtendedKey: xprv } = purse
const usdt = {
  xpub,
  check_address: addressAt(xpub, 0),
  endpoints: ['https://bsc.one.example/v1/abcdef', 'https://two.example/bsc'],
}
const ALL = { alipay, wechat, card, usdt }

const MAIN = { main: 'https://api.example.com' }

const problem = (pay: object, urls: object | null = MAIN): string => {
  try {
    const form = { admin_token: 'a-token-for-tests', pay, ...(urls === null ? {} : { public: urls }) }
    parseConfig(stringify(form), 'gateway.yaml', {})
    return ''
  } catch (error) {
    return error instanceof ConfigError ? error.message : String(error)
  }
}

t.test('a whole section is taken, and a half one names what is missing', async t => {
  t.equal(problem(ALL), '')
  t.equal(problem({}), '')
  for (const [name, form] of Object.entries(ALL))
    for (const field of Object.keys(form)) {
      const half = Object.fromEntries(Object.entries(form).filter(([key]) => key !== field))
      t.match(problem({ [name]: half }), new RegExp(`pay.${name}.${field}`), `${name} without ${field}`)
      for (const blank of ['', '   ', null])
        t.not(problem({ [name]: { ...form, [field]: blank } }), '', `${field} = ${blank}`)
    }
})

t.test('keys are taken in every form in which providers give them', async t => {
  const old = createPrivateKey(privateKey).export({ format: 'pem', type: 'pkcs1' }) as string
  const oldPublic = createPublicKey(publicKey).export({ format: 'pem', type: 'pkcs1' }) as string
  const rows: [name: string, change: object][] = [
    ['PKCS #1', { private_key: old, alipay_public_key: oldPublic }],
    ['base64 alone', { private_key: bare(privateKey), alipay_public_key: bare(publicKey) }],
    ['base64 alone, PKCS #1, with a new line', { private_key: `${bare(old)}\n` }],
  ]
  for (const [name, change] of rows) t.equal(problem({ alipay: { ...alipay, ...change } }), '', name)
})

t.test('what is not what it should be', async t => {
  const rows: [pay: object, text: RegExp][] = [
    [{ alipay: { ...alipay, private_key: publicKey } }, /private_key/],
    [{ alipay: { ...alipay, private_key: pair(1024).privateKey } }, /private_key.*2048 bits/],
    [{ alipay: { ...alipay, alipay_public_key: pair(1024).publicKey } }, /alipay_public_key.*2048 bits/],
    [{ alipay: { ...alipay, alipay_public_key: ownPublicKey } }, /alipay_public_key: .*not the application’s own/],
    [{ alipay: { ...alipay, alipay_public_key: foreignPrivateKey } }, /alipay_public_key/],
    [{ alipay: { ...alipay, alipay_public_key: bare(foreignPrivateKey) } }, /alipay_public_key/],
    [{ alipay: { ...alipay, app_id: 2.021e17 } }, /alipay.app_id/], // a number so long has been rounded
    [{ alipay: { ...alipay, gateway: 'http://127.0.0.1:9' } }, /gateway.*https/],
    [{ alipay: { ...alipay, sandbox: true, gateway: 'http://example.com' } }, /gateway.*https/],
    [{ alipay: { ...alipay, sandbox: true, gateway: 'http://127.0.0.1.evil.example' } }, /gateway.*https/],
    [{ wechat: { ...wechat, api: 'http://127.0.0.1:9' } }, /api.*https/],
    [{ wechat: { ...wechat, api_v3_key: 'short' } }, /api_v3_key/],
    [{ wechat: { ...wechat, sandbox: true } }, /wechat.api.*no test environment/],
    [{ wechat: { ...wechat, public_keys: [...wechat.public_keys, ...wechat.public_keys] } }, /public_keys.1..id.*once/],
    [{ wechat: { ...wechat, public_keys: [{ id: wechat.serial, key: publicKey }] } }, /public_keys.0..id.*merchant/],
    [{ wechat: { ...wechat, public_keys: [] } }, /public_keys/],
    [{ card: { ...card, sandbox: true } }, /secret_key.*test key/],
    [{ card: { ...card, secret_key: 'sk_test_0123456789' } }, /secret_key.*live key/],
    [{ card: { ...card, hold: { disputes: 0 } } }, /hold.disputes/],
    [{ card: { ...card, hold: { within: '1m' } } }, /hold.within/],
    [{ card: { ...card, hold: { for: '91d' } } }, /hold.for/],
    [{ card: { ...card, hold: { days: 7 } } }, /hold.*days/],
    [{ usdt: { ...usdt, xpub: xprv } }, /usdt.xpub.*private/],
    [{ usdt: { ...usdt, xpub: purse.deriveChild(0).publicExtendedKey } }, /usdt.xpub.*hardened account/],
    [{ usdt: { ...usdt, check_address: addressAt(xpub, 1) } }, /check_address.*gives another/],
    [{ usdt: { ...usdt, endpoints: usdt.endpoints.slice(1) } }, /endpoints/],
    [
      { usdt: { ...usdt, endpoints: ['https://one.example/a', 'https://one.example/b'] } },
      /endpoints.*different hosts/,
    ],
    [{ usdt: { ...usdt, endpoints: ['https://one.example', 'http://two.example'] } }, /endpoints.*https/],
    [
      { usdt: { ...usdt, sandbox: true, endpoints: ['https://one.example', 'http://two.example'] } },
      /endpoints.*https/,
    ],
    [{ usdt: { ...usdt, chain_id: 97 } }, /chain_id.*56/],
    [{ usdt: { ...usdt, sandbox: true } }, /chain_id.*97/],
    [{ usdt: { ...usdt, contract: `0x${'12'.repeat(20)}` } }, /contract.*sandbox/],
    [{ paypal: {} }, /paypal/],
  ]
  for (const [pay, text] of rows) t.match(problem(pay), text, JSON.stringify(pay).slice(0, 80))
})

t.test('no problem shows a secret', async t => {
  const secret = 'sk_live_topsecretvalue!'
  t.notMatch(problem({ card: { ...card, secret_key: secret } }), /topsecret/)
  t.notMatch(problem({ alipay: { ...alipay, alipay_public_key: foreignPrivateKey, private_key: 'x' } }), /MII/)
  t.notMatch(problem({ wechat: { ...wechat, private_key: 'PRIVATE topsecret' } }), /topsecret/)
  t.notMatch(problem({ usdt: { ...usdt, xpub: xprv } }), new RegExp(xprv.slice(4, 20)))
  t.notMatch(
    problem({ usdt: { ...usdt, endpoints: ['http://a.example/topsecret', 'https://b.example'] } }),
    /topsecret/,
  )
})

t.test('a chain for tests, and the chain on this machine', async t => {
  const local = ['http://127.0.0.1:1', 'http://127.0.0.1:2']
  t.equal(problem({ usdt: { ...usdt, sandbox: true, chain_id: 97 } }), '')
  t.equal(problem({ usdt: { ...usdt, sandbox: true, chain_id: 97, contract: `0x${'12'.repeat(20)}` } }), '')
  t.equal(problem({ usdt: { ...usdt, sandbox: true, endpoints: local } }), '')
})

t.test('a stand-in on this machine is a test environment', async t => {
  t.equal(
    problem({ alipay: { ...alipay, sandbox: true, gateway: 'http://127.0.0.1:9/gateway.do', api: 'http://[::1]:9' } }),
    '',
  )
})

t.test('addresses of a provider: its own hosts of that mode, or this machine', async t => {
  const test = { alipay, wechat, card: { ...card, secret_key: 'sk_test_0123456789' } }
  const rows: [name: keyof typeof test, field: string, address: string, live: boolean, sandbox: boolean][] = [
    ['alipay', 'gateway', 'https://openapi.alipay.com/gateway.do', true, false],
    ['alipay', 'api', 'https://openapi.alipay.com', true, false],
    ['alipay', 'gateway', 'https://openapi-sandbox.dl.alipaydev.com/gateway.do', false, true],
    ['alipay', 'api', 'https://openapi-sandbox.dl.alipaydev.com', false, true],
    ['alipay', 'api', 'https://openapi.alipaydev.com', false, true],
    ['alipay', 'api', 'https://openapi.alipay.com.evil.example', false, false],
    ['alipay', 'api', 'https://openapi.alipay.com:8443', false, false],
    ['alipay', 'api', 'https://evil.example/openapi.alipay.com', false, false],
    ['alipay', 'api', 'https://127.0.0.1:9', true, true],
    ['alipay', 'api', 'https://127.0.0.1.evil.example', false, false],
    ['alipay', 'api', 'http://127.0.0.1:9', false, true],
    ['wechat', 'api', 'https://api.mch.weixin.qq.com', true, false],
    ['wechat', 'api', 'https://api2.mch.weixin.qq.com', true, false],
    ['wechat', 'api', 'https://api.mch.weixin.qq.example', false, false],
    ['wechat', 'api', 'https://localhost:9', true, true],
    ['card', 'api', 'https://api.stripe.com', true, true],
    ['card', 'api', 'https://stripe-mock.example', false, false],
    ['card', 'api', 'https://[::1]:12111', true, true],
    ['card', 'api', 'http://[::1]:12111', false, true],
  ]
  for (const [name, field, address, live, sandbox] of rows) {
    const form = { ...(name === 'wechat' && field !== 'api' ? { api: 'https://127.0.0.1' } : {}), [field]: address }
    const expected = new RegExp(`pay.${name}.${field}: expected an`)
    const [inLive, inTest] = [
      { ...ALL[name], ...form },
      { ...test[name], ...form, sandbox: true },
    ]
    live ? t.equal(problem({ [name]: inLive }), '', address) : t.match(problem({ [name]: inLive }), expected, address)
    sandbox
      ? t.equal(problem({ [name]: inTest }), '', `${address} in a sandbox`)
      : t.match(problem({ [name]: inTest }), expected, `${address} in a sandbox`)
  }
})

t.test('nodes of a test network are none of the main network', async t => {
  const other = 'https://two.example/bsc'
  for (const address of [
    'https://data-seed-prebsc-1-s1.bnbchain.org:8545',
    'https://bsc-testnet.publicnode.com',
    'https://rpc.example/bsc_testnet_chapel/topsecret',
    'https://bsc-testnet-rpc.example',
  ]) {
    t.match(problem({ usdt: { ...usdt, endpoints: [address, other] } }), /usdt.endpoints.0..*main network/)
    t.match(problem({ usdt: { ...usdt, endpoints: [other, address] } }), /usdt.endpoints.1..*main network/)
    t.notMatch(problem({ usdt: { ...usdt, endpoints: [other, address] } }), /topsecret/)
    t.equal(problem({ usdt: { ...usdt, sandbox: true, chain_id: 97, endpoints: [address, other] } }), '')
  }
  t.equal(problem({ usdt: { ...usdt, endpoints: ['https://contestnetwork.example', other] } }), '')
})

t.test('real money needs an address at which providers and payers reach the gateway', async t => {
  const sandboxes = {
    alipay: { ...alipay, sandbox: true },
    wechat: { ...wechat, sandbox: true, api: 'http://127.0.0.1:9' },
    card: { ...card, sandbox: true, secret_key: 'sk_test_0123456789' },
    usdt: { ...usdt, sandbox: true, chain_id: 97 },
  }
  const wrong: [name: string, urls: object | null][] = [
    ['none', null],
    ['none of main', {}],
    ['plain http', { main: 'http://api.example.com' }],
    ['plain http on this machine', { main: 'http://127.0.0.1:3000' }],
  ]
  for (const [way, form] of Object.entries(ALL))
    for (const [name, urls] of wrong)
      t.match(problem({ [way]: form }, urls), new RegExp(`public.main: expected the https:// URL .* pay.${way}`), name)
  for (const [name, urls] of wrong) t.equal(problem(sandboxes, urls), '', `${name}, where no money is real`)
  t.equal(problem({}, null), '', 'nothing is paid')
  t.match(problem({ ...sandboxes, card }, { main: 'http://a.example' }), /public.main.*pay.card/, 'one of them is real')
  const long = `https://${'a'.repeat(60)}.${'b'.repeat(60)}.example.com/${'c'.repeat(40)}`
  t.match(problem(ALL, { main: long }), /public.main: expected at most 160 characters/)
  t.equal(problem({}, { main: long }), '')
})

t.test('an address on this machine is warned of', async t => {
  const config = (pay: object, main: string) =>
    parseConfig(stringify({ admin_token: 'a-token-for-tests', pay, public: { main } }), 'gateway.yaml', {})
  t.match(payAddressWarnings(config({ card }, 'https://127.0.0.1:3000')), [/public.main: .* pay.card/])
  t.same(payAddressWarnings(config({ card }, 'https://api.example.com')), [])
  t.same(payAddressWarnings(config({}, 'https://127.0.0.1:3000')), [])
})
