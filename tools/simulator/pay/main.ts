/**
 * The payment providers of `gateway demo`: simulated Alipay, WeChat Pay, Stripe and chain, with keys that are made at the start and stand
 * nowhere, and a page that plays the payer; and a mailbox for those who register. They verify what the gateway asks, sign what they say and send their callbacks over HTTP. What
 * they credit is worth nothing: their sections are of test environments, which credit test accounts only, under names that
 * the config of every other gateway refuses.
 */
import { http } from '../../../lib/base/http.ts'
import { micro } from '../../../lib/base/money.ts'
import type { Config, PayConfig } from '../../../lib/config/config.ts'
import { SIMULATED } from '../../../lib/config/pay-schema.ts'
import { addressAt } from '../../../lib/config/xpub.ts'
import { Alipay } from './alipay.ts'
import { SimulatedChain } from './chain.ts'
import { type DemoLetter, Mailbox } from './mailbox.ts'
import { PayerPage } from './page.ts'
import { addressOf, listen, type Teardown } from './server.ts'
import { Stripe } from './stripe.ts'
import { Wechat } from './wechat.ts'

/** The port at which the payer's page is, unless it is taken. */
const PAYER_PORT = 3998
const DEPOSIT_MINIMUM = micro(40_000_000)
const ORDERS_AN_HOUR = 100

const SMTP = { host: '127.0.0.1', security: 'none', user: null, password: null, from: 'gateway@demo.invalid' } as const

export interface SimulatedPayments {
  /** The sections of a config. */
  sections: Pick<PayConfig, 'alipay' | 'wechat' | 'card' | 'usdt'>
  /** Address of the page that plays the payer. */
  payer: string
  /** The way of letters to the mailbox. */
  smtp: NonNullable<Config['smtp']>
  /** Address of the page that shows letters. */
  mailbox: string
}

/** `main`: the address of the gateway, to which callbacks go. `xpub`: of the accounts' addresses. `file`: where transfers are kept. `told`: called with each letter. */
export async function simulatePayments(
  t: Teardown,
  { main, xpub, file, told = () => {} }: { main: string; xpub: string; file: string; told?(letter: DemoLetter): void },
): Promise<SimulatedPayments> {
  const alipay = new Alipay({ ...SIMULATED.alipay })
  const wechat = new Wechat({ ...SIMULATED.wechat })
  const stripe = new Stripe({ account: SIMULATED.card.account })
  const [chain, mailbox] = await Promise.all([
    SimulatedChain.open(t, file),
    Mailbox.open(t, main, told),
    alipay.listen(t),
    wechat.listen(t),
    stripe.listen(t),
  ])
  const page = new PayerPage({ alipay, wechat, stripe, chain, mailbox, webhook: `${main}/pay/card` })
  const server = http.createServer((req, res) => page.serve(req, res))
  await listen(t, server, PAYER_PORT)
  const payer = addressOf(server)
  stripe.ledger.pageOf = id => `${payer}/card?session=${id}`
  return {
    payer,
    sections: sectionsOf(alipay, wechat, stripe, chain, xpub),
    smtp: { ...SMTP, port: mailbox.port },
    mailbox: `${payer}/mailbox`,
  }
}

const sectionsOf = (
  alipay: Alipay,
  wechat: Wechat,
  stripe: Stripe,
  { nodes }: SimulatedChain,
  xpub: string,
): SimulatedPayments['sections'] => ({
  alipay: {
    ...(alipay.section as NonNullable<PayConfig['alipay']>),
    products: ['page'],
  },
  wechat: wechat.config as NonNullable<PayConfig['wechat']>,
  card: stripe.section({ currency: 'CNY', an_hour: ORDERS_AN_HOUR, an_hour_of_all: ORDERS_AN_HOUR }) as NonNullable<
    PayConfig['card']
  >,
  usdt: {
    xpub,
    check_address: addressAt(xpub, 0),
    endpoints: nodes,
    minimum: DEPOSIT_MINIMUM,
    chain_id: SIMULATED.usdt.chainId,
    contract: SIMULATED.usdt.contract,
    sandbox: true,
  },
})
