/**
 * The section `pay` of the config: how money comes in. A method whose section is absent does not exist: no route, no page.
 * A section that is there must be whole; what is missing is an error at start.
 */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { webAddress } from './config-addresses.ts'
import * as kind from './config-scalars.ts'

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

const LEAST_KEY_BITS = 2048
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

const id = (what: string, pattern: RegExp) =>
  kind.scalar(what, { type: ['string', 'integer'], pattern: pattern.source }, value => {
    const text = typeof value === 'number' ? String(value) : value
    return typeof text === 'string' && pattern.test(text) ? text : undefined
  })

/** Only for a provider's stand-in on this machine. */
const host = (what: string) =>
  webAddress
    .optional()
    .meta({ description: `${what} Default: the provider’s own. Plain http only on this machine, with \`sandbox\`.` })

const LOOPBACK = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?(\/|$)/

/** Money in the clear, or live keys at a stand-in, would be a way to make money out of nothing. */
function checkHosts(form: { sandbox: boolean; [field: string]: unknown }, context: z.RefinementCtx): void {
  for (const [name, value] of Object.entries(form)) {
    if (typeof value !== 'string' || !value.startsWith('http://')) continue
    if (!form.sandbox || !LOOPBACK.test(value))
      context.addIssue({
        code: 'custom',
        path: [name],
        message: 'an https:// URL; http only on this machine, with `sandbox`',
      })
  }
}

const alipayForm = z.strictObject({
  app_id: id('an app id of 16 digits or more', /^\d{16,20}$/).meta({ description: 'The application’s id.' }),
  seller_id: id('a seller id of 16 digits, beginning 2088', /^2088\d{12}$/).meta({ description: 'The merchant’s id.' }),
  private_key: privateKey.meta({ description: 'The application’s private key.' }),
  alipay_public_key: publicKey.meta({ description: 'Alipay’s public key, which verifies its messages.' }),
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
  sandbox,
  api: host('Address of the API.'),
})

const alipay = alipayForm.superRefine(checkHosts).superRefine((form, context) => {
  // Both keys are called "public key" where they are copied from. With our own one, every message would be refused.
  if (createPublicKey(form.private_key).equals(createPublicKey(form.alipay_public_key)))
    context.addIssue({
      code: 'custom',
      path: ['alipay_public_key'],
      message: 'Alipay’s public key, not the application’s own one',
    })
})
const wechat = wechatForm.superRefine(checkHosts).superRefine((form, context) => {
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
const card = cardForm.superRefine(checkHosts).superRefine(({ secret_key, sandbox }, context) => {
  if (secret_key.includes('_test_') !== sandbox)
    context.addIssue({
      code: 'custom',
      path: ['secret_key'],
      message: sandbox ? 'a test key, because of `sandbox`' : 'a live key',
    })
})
/** For `configSchema`. */
export const pay = {
  order_limit: kind.cny.prefault('50000').meta({ description: 'Most CNY of one order.' }),
  day_limit: kind.cny.prefault('100000').meta({ description: 'Most CNY of an account’s orders in 24 hours.' }),
  alipay: alipay.optional().meta({ description: 'Alipay. Default: not offered.' }),
  wechat: wechat.optional().meta({ description: 'WeChat Pay. Default: not offered.' }),
  card: card.optional().meta({ description: 'Cards, by Stripe Checkout. Default: not offered.' }),
}

export type AlipayConfig = z.output<typeof alipay>
export type WechatConfig = z.output<typeof wechat>
export type CardConfig = z.output<typeof card>
