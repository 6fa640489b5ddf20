/**
 * What providers write about the fields of requests: which there are, how long they may be, and of what letters. The doubles refuse what
 * breaks it, each with its provider's own error. Only what this program sends is here; whatever else comes is unknown, and refused too.
 *
 * `[D]` is the provider's own page; `[C]` a copy of its table in public code, where the page could not be opened.
 */

export interface Rule {
  /** In the words of the source. */
  text: string
  fits: (value: unknown) => boolean
  /** A value that breaks it. */
  wrong: unknown
  optional?: true
}

/** Fields of nested objects are named by their path: `amount.total`. `*` stands for any one name. */
export interface Asks {
  source: string
  fields: Readonly<Record<string, Rule>>
}

const text = (words: string, pattern: RegExp, wrong: unknown): Rule => ({
  text: words,
  fits: value => typeof value === 'string' && pattern.test(value),
  wrong,
})
const whole = (words: string, least: number, most: number): Rule => ({
  text: words,
  fits: value => typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most,
  wrong: most + 1,
})
const optional = (rule: Rule): Rule => ({ ...rule, optional: true })

/** Plain http is for a gateway on this machine alone. */
const address = (words: string, most: number, wrong: string): Rule => ({
  text: words,
  fits: value =>
    typeof value === 'string' &&
    value.length <= most &&
    /^(?:https:\/\/[^/?#]+|http:\/\/127\.0\.0\.1(?::\d+)?)(?:[/?#]|$)/.test(value) &&
    !(words.includes('no query') && /[?#]/.test(value)),
  wrong,
})

const yuan = (words: string): Rule => ({
  text: words,
  fits: value =>
    typeof value === 'string' && /^\d{1,9}\.\d\d$/.test(value) && Number(value) >= 0.01 && Number(value) <= 1e8,
  wrong: '100000000.01',
})
const LONG_ADDRESS = `https://a.example/${'a'.repeat(5_000)}`

const ALIPAY_NO = text('at most 64 characters, letters, digits and underscores only', /^\w{1,64}$/, 'T-1')
const ALIPAY_TRADE: Asks['fields'] = {
  out_trade_no: ALIPAY_NO,
  total_amount: yuan('CNY with two decimal places, from 0.01 to 100000000'),
  subject: text('at most 256 characters; no special characters, such as / = &', /^[^/=&]{1,256}$/, 'API / credit'),
  time_expire: optional(text('yyyy-MM-dd HH:mm:ss', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, '2030-01-01T00:00:00Z')),
}
const PRODUCT = text('at most 64 characters', /^[A-Z_]{1,64}$/, 'x'.repeat(65))
const ALIPAY_ADDRESS = address('at most 256 characters, http or https', 256, LONG_ADDRESS)
const ALIPAY_CERTIFICATE = optional(text('at most 64 characters', /^[0-9a-f_]{1,256}$/, 'x'.repeat(257)))

/** By the path of the API; `page` is the address that the payer goes to, whose `biz_content` is checked as `page.biz_content`. */
export const ALIPAY: Readonly<Record<string, Asks>> = {
  page: {
    source: '[C] opendocs.alipay.com/open/59da99d0_alipay.trade.page.pay, common parameters',
    fields: {
      app_id: text('at most 32 characters', /^\d{1,32}$/, ''),
      method: text('at most 128 characters', /^[a-z.]{1,128}$/, 'x'.repeat(129)),
      format: optional(text('JSON only', /^JSON$/, 'XML')),
      charset: text('at most 10 characters', /^[\w-]{1,10}$/, 'a-long-charset'),
      sign_type: text('RSA2 or RSA', /^RSA2?$/, 'MD5'),
      sign: text('at most 344 characters', /^[A-Za-z0-9+/=]{1,344}$/, 'x'.repeat(345)),
      timestamp: text('yyyy-MM-dd HH:mm:ss', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, '2030-01-01'),
      version: text('1.0', /^1\.0$/, '2.0'),
      notify_url: ALIPAY_ADDRESS,
      return_url: optional(ALIPAY_ADDRESS),
      alipay_sdk: optional(text('the name of an official library', /^[\w.-]{1,100}$/, '?')),
      biz_content: text('JSON, without bound', /^\{.*\}$/s, 'x'),
      app_cert_sn: ALIPAY_CERTIFICATE,
      alipay_root_cert_sn: ALIPAY_CERTIFICATE,
    },
  },
  'page.biz_content': {
    source: '[C] opendocs.alipay.com/open/59da99d0_alipay.trade.page.pay',
    fields: { ...ALIPAY_TRADE, product_code: PRODUCT },
  },
  'trade/precreate': {
    source: '[C] opendocs.alipay.com/open/8ad49e4a_alipay.trade.precreate',
    fields: { ...ALIPAY_TRADE, product_code: optional(PRODUCT), notify_url: optional(ALIPAY_ADDRESS) },
  },
  'trade/query': { source: '[C] opendocs.alipay.com, alipay.trade.query', fields: { out_trade_no: ALIPAY_NO } },
  'trade/close': { source: '[C] opendocs.alipay.com, alipay.trade.close', fields: { out_trade_no: ALIPAY_NO } },
  'trade/refund': {
    source: '[C] opendocs.alipay.com, alipay.trade.refund',
    fields: {
      out_trade_no: ALIPAY_NO,
      refund_amount: yuan('CNY with two decimal places, at most what was paid'),
      out_request_no: text('at most 64 characters', /^.{1,64}$/, 'R'.repeat(65)),
      refund_reason: optional(text('at most 256 characters', /^.{1,256}$/, 'x'.repeat(257))),
    },
  },
  'trade/fastpay/refund/query': {
    source: '[C] opendocs.alipay.com/open/8c776df6_alipay.trade.fastpay.refund.query',
    fields: { out_trade_no: ALIPAY_NO, out_request_no: text('at most 64 characters', /^.{1,64}$/, 'R'.repeat(65)) },
  },
  'data/dataservice/bill/downloadurl/query': {
    source: '[C] opendocs.alipay.com/open/3c9f1bcf_alipay.data.dataservice.bill.downloadurl.query',
    fields: {
      bill_type: text('trade, signcustomer or another kind of bill', /^(?:trade|signcustomer)$/, 'orders'),
      bill_date: text('yyyy-MM-dd or yyyy-MM', /^\d{4}-\d\d(?:-\d\d)?$/, '2030-1-1'),
    },
  },
}

const WECHAT_ORDER = text('6 to 32 digits, letters and _-|*', /^[\w|*-]{6,32}$/, 'T1234')
const WECHAT_REFUND = text('at most 64 digits, letters and _-|*@', /^[\w|*@-]{1,64}$/, 'R/1')
const MCHID = text('at most 32 characters', /^\d{1,32}$/, '')
const WECHAT_CALLBACK = address('https, at most 255 characters, no query', 255, 'https://a.example/pay?x=1')
const FEN = whole('fen, a whole number above 0', 1, 2 ** 31 - 1)
const CNY = text('CNY', /^CNY$/, 'USD')
const WECHAT_DOCS = '[D] pay.weixin.qq.com/doc/v3/merchant'

/** By method and path, `:id` in the place of numbers. */
export const WECHAT: Readonly<Record<string, Asks>> = {
  'POST /v3/pay/transactions/native': {
    source: `${WECHAT_DOCS}/4012791877`,
    fields: {
      appid: text('at most 32 characters', /^\w{1,32}$/, 'w'.repeat(33)),
      mchid: MCHID,
      description: {
        text: 'at most 127 characters; older pages count bytes',
        fits: value => typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= 127,
        wrong: '充'.repeat(43),
      },
      out_trade_no: WECHAT_ORDER,
      time_expire: optional(text('RFC 3339', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+08:00$/, '2030-01-01 00:00:00')),
      notify_url: WECHAT_CALLBACK,
      'amount.total': FEN,
      'amount.currency': CNY,
    },
  },
  'GET /v3/pay/transactions/out-trade-no/:id': { source: WECHAT_DOCS, fields: { mchid: MCHID } },
  'POST /v3/pay/transactions/out-trade-no/:id/close': { source: WECHAT_DOCS, fields: { mchid: MCHID } },
  'POST /v3/refund/domestic/refunds': {
    source: WECHAT_DOCS,
    fields: {
      out_trade_no: WECHAT_ORDER,
      out_refund_no: WECHAT_REFUND,
      notify_url: optional(WECHAT_CALLBACK),
      'amount.refund': FEN,
      'amount.total': FEN,
      'amount.currency': CNY,
    },
  },
  'GET /v3/refund/domestic/refunds/:id': { source: WECHAT_DOCS, fields: {} },
  'GET /v3/bill/tradebill': {
    source: WECHAT_DOCS,
    fields: {
      bill_date: text('yyyy-MM-dd', /^\d{4}-\d\d-\d\d$/, '20300101'),
      bill_type: optional(text('ALL, SUCCESS or REFUND', /^(?:ALL|SUCCESS|REFUND)$/, 'PAID')),
    },
  },
  'GET /v3/billdownload/file': {
    source: WECHAT_DOCS,
    fields: { token: optional(text('as it was named', /^.+$/, '')) },
  },
}

const STRIPE_DOCS = '[D] docs.stripe.com/api'
/** What stands in a form is text. */
const digits = (words: string, least: number, most: number): Rule => ({
  text: words,
  fits: value =>
    typeof value === 'string' && /^\d{1,12}$/.test(value) && Number(value) >= least && Number(value) <= most,
  wrong: String(most + 1),
})
const METADATA: Rule = text('names of at most 40 characters, values of at most 500', /^.{0,500}$/s, 'x'.repeat(501))
const STRIPE_ADDRESS = address('an address of at most 5,000 characters', 5_000, LONG_ADDRESS)
const CREATED: Asks['fields'] = {
  'created.gte': optional(digits('seconds since 1970', 0, 253_370_764_799)),
  'created.lt': optional(digits('seconds since 1970', 0, 253_370_764_799)),
  'created.lte': optional(digits('seconds since 1970', 0, 253_370_764_799)),
}
const id = (prefix: string): Rule => text(`an id that begins ${prefix}_`, new RegExp(`^${prefix}_\\w{1,255}$`), 'x')
const EXPAND: Asks['fields'] = {
  'expand.*': optional(text('a path of names, at most four deep', /^[a-z_]+(?:\.[a-z_]+){0,3}$/, 'a.b.c.d.e')),
}
const list = (fields: Asks['fields']): Asks['fields'] => ({
  limit: optional(digits('1 to 100', 1, 100)),
  starting_after: optional(text('an id', /^\w{1,255}$/, '')),
  ...EXPAND,
  ...fields,
})

/** By method and path, `:id` in the place of ids. */
export const STRIPE: Readonly<Record<string, Asks>> = {
  'GET /v1/account': { source: `${STRIPE_DOCS}/accounts`, fields: {} },
  'POST /v1/checkout/sessions': {
    source: `${STRIPE_DOCS}/checkout/sessions/create`,
    fields: {
      mode: text('payment, setup or subscription', /^(?:payment|setup|subscription)$/, 'pay'),
      client_reference_id: text('at most 200 characters', /^.{1,200}$/, 'T'.repeat(201)),
      'metadata.*': METADATA,
      'payment_intent_data.metadata.*': METADATA,
      'line_items.0.quantity': digits('a whole number', 1, 999_999),
      'line_items.0.price_data.currency': text('a code of three small letters', /^[a-z]{3}$/, 'CNY'),
      'line_items.0.price_data.unit_amount': digits(
        'at most eight digits, and not less than about half a dollar',
        50,
        99_999_999,
      ),
      'line_items.0.price_data.product_data.name': text('at most 5,000 characters', /^.{1,5000}$/su, ''),
      'allowed_payment_method_types.*': text('names of payment methods', /^[a-z_]{1,40}$/, 'Card'),
      'adaptive_pricing.enabled': text('true or false', /^(?:true|false)$/, 'no'),
      expires_at: digits('seconds since 1970', 0, 253_370_764_799),
      success_url: STRIPE_ADDRESS,
      cancel_url: STRIPE_ADDRESS,
    },
  },
  'GET /v1/checkout/sessions': { source: `${STRIPE_DOCS}/checkout/sessions/list`, fields: list(CREATED) },
  'GET /v1/checkout/sessions/:id': { source: `${STRIPE_DOCS}/checkout/sessions/retrieve`, fields: EXPAND },
  'POST /v1/checkout/sessions/:id/expire': { source: `${STRIPE_DOCS}/checkout/sessions/expire`, fields: {} },
  'POST /v1/refunds': {
    source: `${STRIPE_DOCS}/refunds/create`,
    fields: {
      payment_intent: id('pi'),
      amount: digits('a whole number, at most what is left', 1, 99_999_999),
      reason: text('one of three reasons', /^(?:duplicate|fraudulent|requested_by_customer)$/, 'other'),
      'metadata.*': METADATA,
    },
  },
  'GET /v1/refunds': { source: `${STRIPE_DOCS}/refunds/list`, fields: list({ payment_intent: id('pi') }) },
  'GET /v1/refunds/:id': { source: `${STRIPE_DOCS}/refunds/retrieve`, fields: EXPAND },
  'GET /v1/disputes': {
    source: `${STRIPE_DOCS}/disputes/list`,
    fields: list({ ...CREATED, payment_intent: optional(id('pi')) }),
  },
  'GET /v1/disputes/:id': { source: `${STRIPE_DOCS}/disputes/retrieve`, fields: EXPAND },
  'GET /v1/radar/early_fraud_warnings': {
    source: `${STRIPE_DOCS}/radar/early_fraud_warnings/list`,
    fields: list(CREATED),
  },
  'GET /v1/radar/early_fraud_warnings/:id': {
    source: `${STRIPE_DOCS}/radar/early_fraud_warnings/retrieve`,
    fields: EXPAND,
  },
  'GET /v1/events': {
    source: `${STRIPE_DOCS}/events/list`,
    fields: list({ ...CREATED, 'types.*': text('at most twenty names of events', /^[a-z_.]{1,100}$/, '*') }),
  },
  'GET /v1/balance_transactions': {
    source: `${STRIPE_DOCS}/balance_transactions/list`,
    fields: list({ ...CREATED, type: text('a kind of movement', /^[a-z_]{1,40}$/, 'Charge') }),
  },
}
const MOST_METADATA_NAME = 40
const MOST_TYPES = 20

export interface Broken {
  field: string
  /** What it should be. */
  text: string
}

/** The first field of a request that breaks its rule, is missing, or is not known; null = there is none. */
export function brokenIn({ fields }: Asks, sent: unknown): Broken | null {
  const flat = flatten(sent)
  for (const [field, value] of flat) {
    const rule = ruleOf(fields, field)
    if (rule === null) return { field, text: 'a known parameter' }
    if (!rule.fits(value)) return { field, text: rule.text }
    if (/metadata\.[^.]*$/.test(field) && (field.split('.').at(-1)?.length ?? 0) > MOST_METADATA_NAME)
      return { field, text: rule.text }
  }
  if (flat.filter(([field]) => field.startsWith('types.')).length > MOST_TYPES)
    return { field: 'types', text: 'at most twenty names of events' }
  const missing = Object.entries(fields).find(
    ([name, rule]) => !rule.optional && !flat.some(([field]) => isOf(name, field)),
  )
  return missing === undefined ? null : { field: missing[0], text: 'a parameter that is required' }
}

/** Whether a field is of the row of that name. */
export const isOf = (name: string, field: string): boolean =>
  name === field || (name.endsWith('.*') && field.slice(0, field.lastIndexOf('.')) === name.slice(0, -2))

const ruleOf = (fields: Asks['fields'], field: string): Rule | null =>
  Object.entries(fields).find(([name]) => isOf(name, field))?.[1] ?? null

/** The fields of nested objects and lists, by their paths. */
export const flatten = (value: unknown, path = ''): [field: string, value: unknown][] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, inner]) => flatten(inner, path === '' ? name : `${path}.${name}`))
    : path === ''
      ? []
      : [[path, value]]
