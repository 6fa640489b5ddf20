/**
 * The section `pay` of the config: how money comes in. A method whose section is absent does not exist: no route, no page.
 * A section that is there must be whole; what is missing is an error at start.
 */

import { DAY_MS, HOUR_MS } from '../base/clock.ts'
import { createPrivateKey, createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { type OrderMethod, PAY_METHODS } from '../terms/pay.ts'
import { certificatesIn, isSignedByRsa, leadsTo, rsaBits } from './certificates.ts'
import * as kind from './scalars.ts'
import { isLoopback, webAddress } from './scalars.ts'
import { addressAt, xpubFault } from './xpub.ts'
import type { Source } from './yaml.ts'

const LEAST_KEY_BITS = 2048

/** WeChat Pay takes 127 characters and counts them in bytes in older pages; the others take more. */
const MOST_BYTES = 127

/**
 * Letters and digits of every script, spaces, and punctuation that no provider reads. Alipay forbids "special characters, such as
 * / = &" without a list of all, and what is outside the basic plane, emoji among it, its bills cannot write.
 */
const ALLOWED = /^[\p{L}\p{Mn}\p{Mc}\p{Nd} ._,()·，。、：（）【】《》「」—-]$/u
const VARIATION = /^[\uFE00-\uFE0F]$/u

const isAllowed = (character: string): boolean =>
  character.length === 1 && ALLOWED.test(character) && !VARIATION.test(character)

/** The first character that may not stand in a title, as a text that can be shown. */
function wrongIn(text: string): string | undefined {
  const wrong = [...text].find(character => !isAllowed(character))
  if (wrong === undefined) return undefined
  return /[\p{C}\p{Z}\p{M}]/u.test(wrong)
    ? `the character U+${wrong.codePointAt(0)?.toString(16).toUpperCase()}`
    : `“${wrong}”`
}

const isTitle = (text: string): boolean =>
  Buffer.byteLength(text) <= MOST_BYTES && /^\S(?:.*\S)?$/su.test(text) && wrongIn(text) === undefined

const EXPECTED = `1 to ${MOST_BYTES} bytes of letters, digits, spaces and . , - _ ( ), which every provider takes in a title`

const payTitle = kind.scalar(
  value => {
    const wrong = typeof value === 'string' ? wrongIn(value) : undefined
    return wrong === undefined ? EXPECTED : `${EXPECTED}, and ${wrong} is none`
  },
  { type: 'string', minLength: 1, maxLength: MOST_BYTES },
  value => (typeof value === 'string' && isTitle(value) ? value : undefined),
)

const DEFAULT = 'API 充值'

/** Where the operator has none: payers know the shop by its address. `address`: as people reach it; undefined = nobody knows. */
export function titleOf(address: string | undefined): string {
  const host = address === undefined ? '' : new URL(address).hostname
  const shown = [...host].filter(isAllowed).join('')
  return shown === ''
    ? DEFAULT
    : `${DEFAULT} ${shown}`.slice(0, MOST_BYTES - (Buffer.byteLength(DEFAULT) - DEFAULT.length)).trim()
}

/** `fits` is asked about all certificates of the text. Problems do not show it, because it may be a private key by mistake. */
const certificates = (expected: string, fits: (found: X509Certificate[]) => boolean) =>
  kind
    .scalar(
      expected,
      { type: 'string' },
      value => {
        const found = typeof value === 'string' ? certificatesIn(value) : []
        return found.length > 0 && fits(found) ? (value as string) : undefined
      },
      true,
    )
    .optional()

/** The first certificate is the one that is meant, and is no authority's; those after it have signed it. */
const ofKey = certificates(
  'the certificate of an RSA key of at least 2048 bits, and not of an authority, as PEM',
  found => {
    const [first] = found as [X509Certificate]
    return !first.ca && rsaBits(first) >= LEAST_KEY_BITS
  },
)

const INSTEAD = 'Certificate mode, in place of `alipay_public_key`:'

const certificateFields = {
  app_cert: ofKey.meta({
    description: `${INSTEAD} the application’s certificate (\`appCertPublicKey_….crt\`), as PEM.`,
  }),
  alipay_cert: ofKey.meta({
    description: `${INSTEAD} Alipay’s certificate (\`alipayCertPublicKey_RSA2.crt\`), with those that signed it.`,
  }),
  alipay_root_cert: certificates(
    'certificates of authorities, at least one of them signed by RSA, as PEM',
    found => found.every(one => one.ca) && found.some(isSignedByRsa),
  ).meta({ description: `${INSTEAD} Alipay’s root certificates (\`alipayRootCert.crt\`).` }),
}

const NAMES = ['app_cert', 'alipay_cert', 'alipay_root_cert'] as const

interface Form extends Partial<Record<(typeof NAMES)[number] | 'alipay_public_key', string | undefined>> {
  private_key: string
  sandbox: boolean
}

function checkAlipayKeys(form: Form, context: z.RefinementCtx): void {
  const wrong = (field: string, expected: string) =>
    context.addIssue({ code: 'custom', path: [field], ...kind.problem(expected, true) })
  const missing = NAMES.filter(name => form[name] === undefined)
  const own = createPublicKey(form.private_key)
  if (missing.length === NAMES.length) {
    const { alipay_public_key: key } = form
    if (key === undefined) wrong('alipay_public_key', `Alipay’s public key, or all of ${ALL} (certificate mode)`)
    // Both keys are called "public key" where they are copied from. With our own one, every message would be refused.
    else if (createPublicKey(key).equals(own))
      wrong('alipay_public_key', 'Alipay’s public key, not the application’s own one')
    return
  }
  if (form.alipay_public_key !== undefined)
    wrong('alipay_public_key', `nothing beside ${ALL}: in certificate mode, Alipay’s key is that of \`alipay_cert\``)
  for (const name of missing) wrong(name, `a file: certificate mode needs all of ${ALL}`)
  if (missing.length === 0)
    checkCertificates(form as Required<Form> & Record<(typeof NAMES)[number], string>, own, wrong)
}

const ALL = '`app_cert`, `alipay_cert` and `alipay_root_cert`'

function checkCertificates(
  { app_cert, alipay_cert, alipay_root_cert, sandbox }: Record<(typeof NAMES)[number], string> & { sandbox: boolean },
  own: KeyObject,
  wrong: (field: string, expected: string) => void,
): void {
  const [app] = certificatesIn(app_cert) as [X509Certificate]
  const [alipay, ...between] = certificatesIn(alipay_cert) as [X509Certificate, ...X509Certificate[]]
  if (!app.publicKey.equals(own)) wrong('app_cert', 'the certificate of `private_key`, which is another key')
  if (alipay.publicKey.equals(own)) wrong('alipay_cert', 'Alipay’s certificate, not the application’s own one')
  // Alipay's test environment signs with an authority that its own file of roots does not have.
  else if (!sandbox && !leadsTo(certificatesIn(alipay_root_cert), alipay, between))
    wrong(
      'alipay_cert',
      'a certificate that one of `alipay_root_cert` has signed, directly or through others in this file: use the whole file that Alipay gives',
    )
}

const sandbox = kind.flag.prefault(false).meta({
  description: 'Use the provider’s test environment. Its payments credit test accounts only (`accounts[].sandbox`).',
})

const privateKey = kind.scalar(
  'an RSA private key of at least 2048 bits, as PEM',
  { type: 'string' },
  value => readKey(value, 'private'),
  true,
)
const publicKey = kind.scalar(
  'an RSA public key of at least 2048 bits or a certificate, as PEM',
  { type: 'string' },
  value => readKey(value, 'public'),
)

const BASE64 = /^[A-Za-z0-9+/\s]+=*\s*$/

/** The key as PEM. Some providers' tools write keys as bare base64, which is taken too. */
function readKey(value: unknown, type: 'public' | 'private'): string | undefined {
  if (typeof value !== 'string') return undefined
  for (const pem of BASE64.test(value) ? BARE[type].map(name => pemOf(name, value)) : [value]) {
    const key = keyOf(pem, type)
    if (key?.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= LEAST_KEY_BITS) return pem
  }
  return undefined
}

const BARE = { private: ['PRIVATE KEY', 'RSA PRIVATE KEY'], public: ['PUBLIC KEY'] }

const pemOf = (name: string, base64: string): string =>
  `-----BEGIN ${name}-----\n${base64.replace(/\s/g, '').replace(/.{64}/g, '$&\n')}\n-----END ${name}-----\n`

/** `createPublicKey` also takes a private key, which must stand nowhere but in its own field. */
function keyOf(pem: string, type: 'public' | 'private'): KeyObject | undefined {
  if (type === 'public' && pem.includes('PRIVATE KEY')) return undefined
  try {
    return type === 'public' ? createPublicKey(pem) : createPrivateKey(pem)
  } catch {
    return undefined
  }
}

/** A long number without quotes has been rounded by whoever read the file, and would be somebody else's. */
const id = (what: string, pattern: RegExp) =>
  kind.scalar(what, { type: ['string', 'integer'], pattern: pattern.source }, value => {
    const text = Number.isSafeInteger(value) ? String(value) : value
    return typeof text === 'string' && pattern.test(text) ? text : undefined
  })

/** Only for a provider's stand-in on this machine, and for another one of its own hosts. */
const host = (what: string) =>
  webAddress.optional().meta({
    description: `${what} Default: the provider’s own. Otherwise another of its hosts of the same mode, or this machine; plain http only with \`sandbox\`.`,
  })

/**
 * The providers' own hosts, of real money and of their test environments. What a test environment signs is worth nothing, and at any
 * other host nobody knows what it is worth.
 */
const HOSTS = {
  alipay: {
    live: ['openapi.alipay.com'],
    test: ['openapi-sandbox.dl.alipaydev.com', 'openapi.alipaydev.com'],
  },
  wechat: { live: ['api.mch.weixin.qq.com', 'api2.mch.weixin.qq.com'], test: [] },
  card: { live: ['api.stripe.com'], test: ['api.stripe.com'] },
} as const

const ADDRESSES = ['gateway', 'api'] as const

/** Money in the clear, or live keys at a stand-in, would be a way to make money out of nothing. */
const checkHosts =
  (provider: keyof typeof HOSTS) =>
  (form: { sandbox: boolean; [field: string]: unknown }, context: z.RefinementCtx): void => {
    for (const name of ADDRESSES) {
      const value = form[name]
      const message = typeof value !== 'string' ? null : hostProblem(value, form.sandbox, HOSTS[provider])
      if (message !== null) context.addIssue({ code: 'custom', path: [name], message })
    }
  }

function hostProblem(
  address: string,
  sandbox: boolean,
  { live, test }: { live: readonly string[]; test: readonly string[] },
): string | null {
  const { protocol, hostname, port } = new URL(address)
  if (protocol === 'http:' && !(sandbox && isLoopback(hostname)))
    return 'an https:// URL; http only on this machine, with `sandbox`'
  const hosts = sandbox ? test : live
  if (isLoopback(hostname) || (hosts.includes(hostname) && port === '')) return null
  const mode = sandbox ? 'because of `sandbox`' : 'another one only with `sandbox`'
  return `an address at ${[...hosts, 'this machine'].join(' or ')}, ${mode}`
}

/**
 * What the providers of `gateway demo` are called, which anybody may be paid by. No config may name them: only the demo puts them into
 * its own, after the file is read.
 */
export const SIMULATED = {
  alipay: { appId: '2021999999999999', sellerId: '2088999999999999' },
  wechat: { mchid: '1999999999', appid: 'wxsimulated000000' },
  card: { account: 'acct_simulatedbygateway' },
  usdt: { chainId: 999_056, contract: '0x5151515151515151515151515151515151515151' },
} as const

const NO_SIMULATED = 'that of a provider; this is a simulated one, which only `gateway demo` offers'

const alipayForm = z.strictObject({
  app_id: id('an app id of 16 digits or more', /^\d{16,20}$/).meta({ description: 'The application’s id.' }),
  seller_id: id('a seller id of 16 digits, beginning 2088', /^2088\d{12}$/).meta({ description: 'The merchant’s id.' }),
  private_key: privateKey.meta({ description: 'The application’s private key.' }),
  alipay_public_key: publicKey.optional().meta({
    description: 'Alipay’s public key, which verifies its messages. Required, except in certificate mode.',
  }),
  ...certificateFields,
  products: z.array(kind.oneOf('page', 'qr')).min(1).prefault(['page']).meta({
    description: '`page`: the payer goes to Alipay’s page. `qr`: the payer scans a code (face-to-face product).',
  }),
  sandbox,
  gateway: host('Address of `gateway.do`, for pages.'),
  api: host('Address of the version 3 API.'),
})

const wechatForm = z.strictObject({
  mchid: id('a merchant id of 8 to 32 digits', /^\d{8,32}$/).meta({ description: 'The merchant’s id.' }),
  appid: id('an app id', /^[\w-]{8,32}$/).meta({ description: 'The application that the merchant is bound to.' }),
  serial: id('a serial number', /^[0-9A-Fa-f]{8,64}$/).meta({
    description: 'Serial number of the merchant’s certificate.',
  }),
  private_key: privateKey.meta({ description: 'The merchant’s private key.' }),
  api_v3_key: kind
    .secret('a key of 32 characters', /^[!-~]{32}$/)
    .meta({ description: 'The API v3 key, which decrypts callbacks.' }),
  public_keys: z
    .array(
      z.strictObject({
        id: id('the id of a key, such as PUB_KEY_ID_…', /^[\w-]{8,64}$/).meta({
          description: 'The key’s id, or the certificate’s serial number.',
        }),
        key: publicKey.meta({ description: 'The key or certificate, as PEM.' }),
      }),
    )
    .min(1)
    .meta({
      description:
        'WeChat Pay’s public keys or platform certificates by their ids. The first is asked for; during a change both stand here.',
    }),
  sandbox,
  api: host('Address of the API.'),
})

const hold = z.strictObject({
  disputes: kind.whole(1, 1_000).prefault(3).meta({
    description: 'How many payments must have been disputed, or warned of by the provider, for new ones to be held.',
  }),
  within: kind
    .duration({ least: HOUR_MS, most: 366 * DAY_MS })
    .prefault('7d')
    .meta({ description: 'How far back they count.' }),
  for: kind
    .duration({ least: 60_000, most: 90 * DAY_MS })
    .prefault('24h')
    .meta({ description: 'A payment that is held is credited so long after it was paid.' }),
})

const cardForm = z.strictObject({
  secret_key: kind
    .secret('a secret key, beginning sk_ or rk_', /^(sk|rk)_(test|live)_[A-Za-z0-9]{8,}$/)
    .meta({ description: 'Stripe’s secret or restricted key.' }),
  webhook_secret: kind
    .secret('a webhook secret, beginning whsec_', /^whsec_[!-~]{16,}$/)
    .meta({ description: 'Secret of the webhook’s endpoint, which verifies its messages.' }),
  account: id('an account id, beginning acct_', /^acct_\w{8,}$/).meta({ description: 'The merchant’s account.' }),
  currency: kind
    .oneOf('CNY', 'USD', 'HKD', 'EUR', 'SGD')
    .prefault('CNY')
    .meta({ description: 'Currency that the card is charged in. Another one than CNY needs a rate.' }),
  an_hour: kind.whole(1, 100).prefault(5).meta({ description: 'Most orders of one account in an hour.' }),
  an_hour_of_all: kind.whole(1).prefault(200).meta({ description: 'Most orders of all accounts in an hour.' }),
  hold: hold.optional().meta({
    description:
      'Hold new payments for a while when disputes rise. Default: they are credited at once. `{}`: as below.',
  }),
  sandbox,
  api: host('Address of the API.'),
})

const notSimulated =
  (names: Record<string, unknown>) =>
  (form: Record<string, unknown>, context: z.RefinementCtx): void => {
    for (const [name, simulated] of Object.entries(names))
      if (form[name] === simulated) context.addIssue({ code: 'custom', path: [name], message: NO_SIMULATED })
  }

const alipay = alipayForm
  .superRefine(checkHosts('alipay'))
  .superRefine(checkAlipayKeys)
  .superRefine(notSimulated({ app_id: SIMULATED.alipay.appId, seller_id: SIMULATED.alipay.sellerId }))
const wechat = wechatForm.superRefine(checkHosts('wechat')).superRefine((form, context) => {
  notSimulated({ ...SIMULATED.wechat })(form, context)
  const { public_keys, serial, sandbox, api } = form
  for (const [i, { id }] of public_keys.entries())
    if (id === serial || public_keys.findIndex(key => key.id === id) < i)
      context.addIssue({
        code: 'custom',
        path: ['public_keys', i, 'id'],
        message: 'the id of a key of WeChat Pay, each once; `serial` is the merchant’s own',
      })
  if (sandbox && api === undefined)
    context.addIssue({
      code: 'custom',
      path: ['api'],
      message: 'required with `sandbox`: WeChat Pay has no test environment of its own',
    })
})
const card = cardForm.superRefine(checkHosts('card')).superRefine(({ secret_key, sandbox, account }, context) => {
  notSimulated({ ...SIMULATED.card })({ account }, context)
  if (secret_key.includes('_test_') !== sandbox)
    context.addIssue({
      code: 'custom',
      path: ['secret_key'],
      message: sandbox ? 'a test key, because of `sandbox`' : 'a live key',
    })
})
/** Tether USD on BNB Smart Chain. */
const USDT_CONTRACT = '0x55d398326f99059ff775485246999027b3197955'
const BSC = 56

const address = (what: string) =>
  kind.scalar(what, { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' }, value =>
    kind.matched(/^0x[0-9a-fA-F]{40}$/, value)?.[0].toLowerCase(),
  )

const usdtForm = z.strictObject({
  xpub: kind
    .scalar(
      value => (typeof value === 'string' ? (xpubFault(value) ?? '') : 'an extended public key, beginning xpub'),
      { type: 'string', pattern: '^xpub' },
      value => (typeof value === 'string' && xpubFault(value) === null ? value : undefined),
      true,
    )
    .meta({
      description:
        "Extended public key of an account m/44'/60'/n' that is used for nothing else. The addresses that accounts pay to are its children 0/i. A private key is refused.",
    }),
  check_address: address('an address of 0x and 40 digits').meta({
    description: 'Address 0 of that account, copied from the wallet: a start fails when the key gives another one.',
  }),
  endpoints: z.array(webAddress).length(2).meta({
    description:
      'JSON-RPC addresses of two nodes of different providers. The first is read, the second confirms each transfer. They must answer `eth_getLogs`.',
  }),
  minimum: kind.cny.prefault('40').meta({
    description: 'Transfers of an account wait until together they are worth so many CNY.',
  }),
  chain_id: kind.whole(1).prefault(BSC).meta({ description: 'Id of the chain. Another one than 56 needs `sandbox`.' }),
  contract: address('an address of 0x and 40 digits')
    .prefault(USDT_CONTRACT)
    .meta({ description: 'Address of the token’s contract. Another one than that of Tether USD needs `sandbox`.' }),
  sandbox,
})

/** How providers of nodes name the test network in their addresses. */
const TEST_NETWORK = /(?:^|[^a-z])(?:testnet|prebsc|chapel)(?:[^a-z]|$)/i

const usdt = usdtForm.superRefine((form, context) => {
  const { xpub, check_address, endpoints, chain_id, contract, sandbox } = form
  // The addresses of nodes have keys in them.
  const wrong = (path: (string | number)[], message: string) =>
    context.addIssue({ code: 'custom', path, ...kind.problem(message, path[0] === 'endpoints') })
  notSimulated({ chain_id: SIMULATED.usdt.chainId, contract: SIMULATED.usdt.contract })(form, context)
  if (addressAt(xpub, 0) !== check_address) wrong(['check_address'], 'the address 0 of `xpub`, which gives another one')
  const isLocal = (url: string): boolean => isLoopback(new URL(url).hostname)
  const local = endpoints.every(isLocal)
  for (const [i, url] of endpoints.entries()) {
    if (!url.startsWith('https://') && !(sandbox && isLocal(url)))
      wrong(['endpoints', i], 'an https:// URL; http only on this machine, with `sandbox`')
    if (!sandbox && TEST_NETWORK.test(url))
      wrong(['endpoints', i], 'a node of the main network; of a test network only with `sandbox`')
  }
  if (new Set(endpoints.map(url => new URL(url).host)).size < endpoints.length)
    wrong(['endpoints'], 'two nodes at different hosts: the second must not repeat what the first says')
  if (sandbox && chain_id === BSC && !local)
    wrong(['chain_id'], 'another chain than 56, because of `sandbox`; 97 is the test network')
  if (!sandbox && chain_id !== BSC) wrong(['chain_id'], '56; another chain only with `sandbox`')
  if (!sandbox && contract !== USDT_CONTRACT) wrong(['contract'], `${USDT_CONTRACT}; another one only with \`sandbox\``)
})
export const pay = {
  title: payTitle.optional().meta({
    description:
      'What payers read at the provider and in their bills. Default: `API 充值` and the host of `public.main`.',
  }),
  order_limit: kind.cny.prefault('50000').meta({ description: 'Most CNY of one order.' }),
  day_limit: kind.cny.prefault('100000').meta({ description: 'Most CNY of an account’s orders in 24 hours.' }),
  alipay: alipay.optional().meta({ description: 'Alipay. Default: not offered.' }),
  wechat: wechat.optional().meta({ description: 'WeChat Pay. Default: not offered.' }),
  card: card.optional().meta({ description: 'Cards, by Stripe Checkout. Default: not offered.' }),
  usdt: usdt.optional().meta({ description: 'USDT on BNB Smart Chain. Default: not offered.' }),
}

export type AlipayConfig = z.output<typeof alipay>
export type WechatConfig = z.output<typeof wechat>
export type CardConfig = z.output<typeof card>
/** Times are in ms. */
export type HoldConfig = z.output<typeof hold>
export type UsdtConfig = z.output<typeof usdt>

/** What `public.main` has at most: with the rest of the paths, providers take 255 characters where they send callbacks and payers. */
const LONGEST_MAIN = 160

interface Ways {
  pay: { [M in OrderMethod]?: { sandbox: boolean } | undefined }
  public: { main?: string | undefined }
}

const liveOf = ({ pay: ways }: Ways) => PAY_METHODS.find(way => ways[way]?.sandbox === false)

/** Real money is paid only where the provider and the payer reach this gateway, and nobody on the way can change what they read. */
export function checkPay(form: Ways, source: Source): void {
  const { main } = form.public
  const live = liveOf(form)
  const offered = PAY_METHODS.find(way => form.pay[way] !== undefined)
  if (live !== undefined && !main?.startsWith('https://'))
    source.problem(
      ['public', 'main'],
      `the https:// URL by which payers and their provider reach this gateway, because of pay.${live}`,
    )
  if (offered !== undefined && (main?.length ?? 0) > LONGEST_MAIN)
    source.problem(['public', 'main'], `at most ${LONGEST_MAIN} characters, because of pay.${offered}`)
}

/** A person should know of an address that nobody else reaches. */
export function payAddressWarnings(config: Ways): string[] {
  const { main } = config.public
  const live = liveOf(config)
  if (live === undefined || main === undefined || !isLoopback(new URL(main).hostname)) return []
  return [`public.main: no provider and no payer reaches this machine by ${main}, which pay.${live} needs`]
}
