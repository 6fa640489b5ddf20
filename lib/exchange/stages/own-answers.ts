/** The stages that answer by themselves: lists of models, the money of a key, a greeting, and that there are no WebSockets. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Protocol } from '../../terms/records.ts'
import type { Target } from '../../terms/target.ts'
import type { Exchange } from '../record/exchange.ts'
import { stage } from '../plan.ts'
import { answerJson, DONE, refuse, storeFailed } from '../record/ending.ts'
import type { Services } from '../record/services.ts'
import { type Funds, fundsOf } from '../../access/funds.ts'
import { add, formatMicro, type Micro } from '../../base/money.ts'

/** The catalogue has no dates of models, and clients want one. */
const CREATED = { created: 1_767_225_600, created_at: '2026-01-01T00:00:00Z' }

/** Lists the models that a key may use, in one form that the clients of every protocol can read. */
export const listModels = stage<'admitted', never>((x, services) => {
  const { endpoint, model } = x.target as Target
  const ids = usableModels(x)
  if (endpoint.action === 'model') {
    if (model === null || !ids.includes(model)) refuse(x, services, 'model_unknown', [model ?? ''])
    else send(x, services, endpoint.native ? nativeEntry(x, model) : { ...entry(x, model), ...nativeEntry(x, model) })
  } else {
    send(x, services, endpoint.native ? { models: ids.map(id => nativeEntry(x, id)) } : page(x, ids))
  }
  return DONE
})

/** A model is usable when an enabled channel of the key's group has it, it has a price, and the key is not restricted to others. */
function usableModels(x: Exchange): string[] {
  const { key, models } = x.entry as KeyEntry
  const ids = x.world.routes.models(key.group)
  return ids.filter(id => (models === null || models.has(id)) && pricedProtocols(x, id).length > 0)
}

/** The protocols for which a channel has the model, as far as its price covers them. */
function pricedProtocols(x: Exchange, id: string): Protocol[] {
  const { group } = (x.entry as KeyEntry).key
  const tariff = x.world.tariff(group, id)
  return x.world.routes.protocolsOf(group, id).filter(protocol => tariff?.covers(protocol))
}

/** The protocols among them that no channel speaks, and one serves by translation. */
function translatedProtocols(x: Exchange, id: string): Protocol[] {
  const priced = pricedProtocols(x, id)
  return x.world.routes.translatedOf((x.entry as KeyEntry).key.group, id).filter(protocol => priced.includes(protocol))
}

function page(x: Exchange, ids: string[]): object {
  const query = new URLSearchParams(x.query)
  const after = query.get('after_id') ?? query.get('after')
  const rest = after === null ? ids : ids.filter(id => id > after)
  const limit = Number(query.get('limit') ?? '')
  const shown = Number.isInteger(limit) && limit > 0 ? rest.slice(0, limit) : rest
  return {
    object: 'list',
    data: shown.map(id => entry(x, id)),
    has_more: shown.length < rest.length,
    first_id: shown[0] ?? null,
    last_id: shown.at(-1) ?? null,
    models: shown.map(id => nativeEntry(x, id)),
  }
}

const entry = (x: Exchange, id: string) => ({
  id,
  type: 'model',
  object: 'model',
  display_name: id,
  ...CREATED,
  owned_by: 'gateway',
  protocols: pricedProtocols(x, id),
  translated: translatedProtocols(x, id),
})

const METHODS: Partial<Record<Protocol, string[]>> = {
  generate: ['generateContent', 'streamGenerateContent', 'countTokens'],
  embeddings: ['embedContent', 'batchEmbedContents'],
}

function nativeEntry(x: Exchange, id: string): object {
  const protocols = x.world.routes.protocolsOf((x.entry as KeyEntry).key.group, id)
  return {
    name: `models/${id}`,
    displayName: id,
    supportedGenerationMethods: protocols.flatMap(p => METHODS[p] ?? []),
  }
}

const send = (x: Exchange, services: Services, body: object): void =>
  answerJson(x, services, Buffer.from(JSON.stringify(body)))

// --- the money of a key

/**
 * A key asks what it has spent and may still spend. Chat applications know two pages for this, one of which they also
 * use for what they show as the balance: `hard_limit_usd - total_usage / 100`. So `total_usage` is all that the key
 * has ever spent, whatever dates the query names, and the difference is what is available. The fields say USD; they
 * are CNY unless the config has a rate.
 */
export const showFunds = stage<'admitted', never>((x, services) => {
  const { key, account } = x.entry as KeyEntry
  const { ledger, store } = services
  const { health } = ledger
  const here = { holder: ledger.holder, held: ledger.held(), nowMs: ledger.wall.now() }
  return health
    .ask(() => fundsOf(store, key, account, here))
    .then(
      funds => {
        send(x, services, bodyOf(x, funds))
        return DONE
      },
      error => storeFailed(x, services, error),
    )
})

const ONE_UNIT = 1_000_000n

/** Millionths of the currency that is shown. What does not divide evenly is cut off. */
const millionths = (amount: Micro, rate: number | null): bigint =>
  rate === null ? BigInt(amount) : (BigInt(amount) * ONE_UNIT) / BigInt(rate)

/** A number of six places. `times` is 100 for hundredths. */
const shown = (amount: Micro, rate: number | null, times = 1n): number =>
  Number(formatMicro(millionths(amount, rate) * times))

/** Some gateways count money in units of which 500,000 are 1 of the currency, and applications divide by that. */
const MILLIONTHS_A_UNIT = 2n
const units = (amount: Micro, rate: number | null): number => Number(millionths(amount, rate) / MILLIONTHS_A_UNIT)

function bodyOf(x: Exchange, { used, available }: Funds): object {
  const { key } = x.entry as KeyEntry
  const { usdRate } = x.world.config.billing
  const granted = add(used, available)
  const expiresAt = key.expiresAtMs === null ? 0 : Math.floor(key.expiresAtMs / 1000)
  const { action } = (x.target as Target).endpoint
  if (action === 'funds-used') return { object: 'list', total_usage: shown(used, usdRate, 100n) }
  if (action === 'funds-limit') {
    const limit = shown(granted, usdRate)
    return {
      object: 'billing_subscription',
      has_payment_method: true,
      soft_limit_usd: limit,
      hard_limit_usd: limit,
      system_hard_limit_usd: limit,
      access_until: expiresAt,
    }
  }
  return {
    code: true,
    message: 'ok',
    data: {
      object: 'token_usage',
      name: key.name,
      total_granted: units(granted, usdRate),
      total_used: units(used, usdRate),
      total_available: units(available, usdRate),
      unlimited_quota: false,
      model_limits: Object.fromEntries((key.models ?? []).map(model => [model, true])),
      model_limits_enabled: key.models !== null,
      expires_at: expiresAt,
    },
  }
}

// --- greetings

const HELLO = Buffer.from('{"message":"hello"}')

/** Greets coding tools, which ask whether a gateway is here before they send a key. */
export const sayHello = stage<'target', never>((x, services) => {
  answerJson(x, services, HELLO)
  return DONE
})

/** Refuses a WebSocket with 426. Clients that try one first then use HTTP at once; after any other answer they wait for seconds. */
export const refuseUpgrade = stage<'target', never>((x, services) => refuse(x, services, 'upgrade'))
