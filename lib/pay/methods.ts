/**
 * The ways to pay on pages of providers that the config has, by name. The code of a method is loaded only when it is configured. A
 * new one is a name in `lib/terms/pay.ts`, a section in `lib/config/pay-schema.ts`, a folder here with a `CheckoutMethod` (`method.ts`), a
 * line of MAKERS, and its words in `web/parts/order-words.ts`.
 */
import type { Clock } from '../base/clock.ts'
import type { Config, PayConfig } from '../config/config.ts'
import { payAddressWarnings } from '../config/pay-schema.ts'
import type { CheckoutName } from '../terms/pay.ts'
import type { MethodTools, CheckoutMethod } from './method.ts'
import { remarkOn } from './health.ts'

type Maker<M extends CheckoutName> = (config: NonNullable<PayConfig[M]>, tools: MethodTools) => Promise<CheckoutMethod>

const MAKERS: { [M in CheckoutName]: Maker<M> } = {
  alipay: async (config, tools) => new (await import('./alipay/alipay.ts')).Alipay(config, tools),
  wechat: async (config, tools) => new (await import('./wechat/wechat.ts')).Wechat(config, tools),
  card: async (config, tools) => new (await import('./card/card.ts')).Card(config, tools),
}

export async function openMethods(
  { pay, public: urls }: Config,
  clock: Clock,
): Promise<Map<CheckoutName, CheckoutMethod>> {
  const methods = new Map<CheckoutName, CheckoutMethod>()
  for (const name of Object.keys(MAKERS) as CheckoutName[]) {
    const section = pay[name]
    if (section === undefined) continue
    const make = MAKERS[name] as Maker<typeof name>
    methods.set(name, await make(section as never, { clock, callback: `${urls.main}/pay/${name}`, title: pay.title }))
  }
  return methods
}

/** What a person should know of the config before a gateway starts with it. */
export async function payWarnings(config: Config, clock: Clock): Promise<string[]> {
  const warnings: string[] = payAddressWarnings(config)
  for (const { name, validity } of (await openMethods(config, clock)).values()) {
    const remark = validity == null ? null : remarkOn(validity, clock.now())
    if (remark !== null) warnings.push(`pay.${name}: ${remark.text}`)
  }
  return warnings
}
