/**
 * The stages that tell a key of its own money: what it has spent and may still spend, in the forms that chat applications and
 * OpenRouter's clients read, and what one of its answers cost. Nothing of another key is told, and nothing of what upstreams
 * charge or which channel answered.
 */
import { HOUR_MS, iso, isoOrNull } from '../../base/clock.ts'
import type { KeyEntry } from '../../access/keys.ts'
import { Questions } from '../../access/open-requests.ts'
import { timeOfId } from '../../base/ids.ts'
import { add, formatMicro, type Micro } from '../../base/money.ts'
import { periodAt } from '../../base/periods.ts'
import { offsetHours } from '../../base/zone.ts'
import { answerKey, type BookedRow } from '../../store/usage/rows.ts'
import { type Funds, fundsOf } from '../../ledger/funds.ts'
import type { Protocol } from '../../protocols/names.ts'
import { everyAt } from '../../terms/records.ts'
import type { Target } from '../../terms/target.ts'
import type { Exchange } from '../record/exchange.ts'
import { stage } from '../plan.ts'
import { answerJson, DONE, refuse, type StageResult, storeFailed } from '../record/ending.ts'
import type { Services } from '../record/services.ts'

/**
 * A key asks what it has spent and may still spend. Chat applications know two pages for this, one of which they also
 * use for what they show as the balance: `hard_limit_usd - total_usage / 100`. So `total_usage` is all that the key
 * has ever spent, whatever dates the query names, and the difference is what is available. The fields say USD; they
 * are CNY unless the config has a rate.
 */
export const showFunds = stage<'admitted', never>((x, services) => {
  const { action } = (x.target as Target).endpoint
  return answerFrom(x, services, async () => {
    const funds = await askFunds(x, services)
    if (action === 'credits') return creditsOf(x, funds)
    return action === 'key' ? await keyOf(x, services, funds) : bodyOf(x, funds)
  })
})

function askFunds(x: Exchange, { ledger, store }: Services): Promise<Funds> {
  const { key, account } = x.entry as KeyEntry
  return fundsOf(store, ledger, key, account)
}

/** The most questions of one account, asked or in line. */
const MOST_QUESTIONS = 64
const questionsOf = new WeakMap<Services, Questions>()
const RETRY_S = 1

/** Answers with what the store says; null = the question was refused already. */
function answerFrom(x: Exchange, services: Services, ask: () => Promise<object | null>): StageResult {
  const questions = questionsOf.get(services) ?? new Questions(MOST_QUESTIONS)
  questionsOf.set(services, questions)
  const { id } = (x.entry as KeyEntry).account
  if (questions.full) return refuse(x, services, 'unavailable')
  const { health } = services.ledger
  // nobody waits any more for one whose turn comes too late
  const asked = questions.take(id, () => (x.answered || x.left ? Promise.resolve(null) : health.ask(ask)))
  if (asked === null) return refuse(x, services, 'concurrency', [String(MOST_QUESTIONS)], RETRY_S)
  return health.within(asked).then(
    body => {
      if (body !== null) answerJson(x, services, Buffer.from(JSON.stringify(body)))
      return DONE
    },
    error => storeFailed(x, services, error),
  )
}

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

// --- in the words of OpenRouter, in CNY

/** An amount as a number of six places. */
const cny = (amount: Micro): number => Number(formatMicro(amount))
const CURRENCY = { currency: 'CNY' }

/** A key with a cap is told of its cap, and nothing of what its account has. */
function creditsOf(x: Exchange, { account, cap }: Funds): object {
  const { key } = x.entry as KeyEntry
  const [credit, spent] =
    key.cap === null || cap === null ? [account.credit, account.spent] : [key.cap.amount, cap.spent]
  return { data: { total_credits: cny(credit), total_usage: cny(spent), ...CURRENCY } }
}

const RESETS = { day: 'daily', week: 'weekly', month: 'monthly' } as const
const NO_BYOK = { byok_usage: 0, byok_usage_daily: 0, byok_usage_weekly: 0, byok_usage_monthly: 0 }

async function keyOf(x: Exchange, services: Services, { used, cap }: Funds): Promise<object> {
  const { key, account } = x.entry as KeyEntry
  const nowMs = services.ledger.wall.now()
  const every = key.cap === null ? null : everyAt(key.cap, nowMs)
  const { requests, minutes } = x.world.rateOf(account, key.group)
  return {
    data: {
      label: key.name,
      limit: key.cap === null ? null : cny(key.cap.amount),
      limit_remaining: cap === null ? null : cny(cap.left),
      limit_reset: every === null ? null : RESETS[every],
      usage: cny(used),
      ...(await recentUsage(x, services, nowMs)),
      is_free_tier: false,
      expires_at: isoOrNull(key.expiresAtMs),
      rate_limit: {
        requests: requests === 0 ? -1 : requests,
        interval: `${minutes}m`,
        note: requests === 0 ? 'unlimited' : 'requests of the account within the interval',
      },
      ...CURRENCY,
      // what OpenRouter's clients expect beside it
      ...NO_BYOK,
      include_byok_in_limit: false,
      is_management_key: false,
      is_provisioning_key: false,
      creator_user_id: null,
      organization_id: null,
      workspace_id: null,
      allowed_data_regions: ['global'],
      free_model_daily_requests: { limit: 0, used: 0, remaining: 0 },
    },
  }
}

/** What the key has spent since the day, the week and the month began, in the zone of the config. */
async function recentUsage(x: Exchange, { store }: Services, nowMs: number): Promise<object> {
  const { key, account } = x.entry as KeyEntry
  const { zone } = store
  const begins = (['day', 'week', 'month'] as const).map(every => periodAt(every, nowMs, zone).beginMs)
  const owner = { accountId: account.id, keyId: key.id }
  const days = await store.usage.summary({
    ...owner,
    by: ['day'],
    zone,
    fromMs: Math.min(...begins),
    toMs: nowMs + 1,
    brief: true,
  })
  const [usage_daily, usage_weekly, usage_monthly] = begins.map(beginMs => {
    const first = new Date(beginMs + (offsetHours(zone, beginMs) ?? 0) * HOUR_MS).toISOString().slice(0, 10)
    const sum = days.reduce((total, { by, charge }) => (String(by[0]) >= first ? total + charge : total), 0)
    return cny(sum as Micro)
  })
  return { usage_daily, usage_weekly, usage_monthly }
}

// --- what one answer cost

const LONGEST_ID = 512
const NOT_YET_S = 1
const API_TYPES: Partial<Record<Protocol, string>> = {
  embeddings: 'embeddings',
  rerank: 'rerank',
  speech: 'tts',
  transcriptions: 'stt',
  images: 'image',
}

/** Tells what one answer cost that this very key was given, by our id of it or by the id in its body. */
export const showGeneration = stage<'admitted', never>((x, services) => {
  const { key, account } = x.entry as KeyEntry
  const id = new URLSearchParams(x.query).get('id') ?? ''
  if (id === '' || id.length > LONGEST_ID) return refuse(x, services, 'field', ['id'])
  return answerFrom(x, services, async () => {
    const rows = await services.store.usage.requestsOfId({ accountId: account.id, keyIds: [key.id] }, id)
    const row =
      rows.find(({ requestId }) => requestId === id) ?? rows.find(({ answerId }) => answerId === answerKey(id))
    if (row !== undefined) return { data: generationOf(row) }
    refuse(x, services, 'generation_unknown', [id], NOT_YET_S)
    return null
  })
})

function generationOf(row: BookedRow): object {
  const prompt = row.input + row.cache_read + row.cache_write_5m + row.cache_write_1h
  const searches = row.lines.reduce((sum, line) => (line.class === 'web_search' ? sum + line.count : sum), 0)
  return {
    id: row.requestId,
    upstream_id: row.via === null ? row.answerId : null,
    total_cost: cny(row.charge),
    usage: cny(row.charge),
    created_at: iso(timeOfId(row.requestId)),
    model: row.model,
    streamed: null,
    cancelled: row.end === 'client_gone',
    generation_time: row.durationMs,
    latency: row.firstByteMs,
    finish_reason: null,
    native_finish_reason: null,
    tokens_prompt: prompt,
    tokens_completion: row.output,
    native_tokens_prompt: prompt,
    native_tokens_completion: row.output,
    native_tokens_reasoning: null,
    native_tokens_cached: row.cache_read,
    native_tokens_completion_images: null,
    num_search_results: searches === 0 ? null : searches,
    num_media_prompt: null,
    num_media_completion: row.images === 0 ? null : row.images,
    num_input_audio_prompt: null,
    num_fetches: null,
    api_type: API_TYPES[row.protocol] ?? 'completions',
    provider_name: 'gateway',
    is_byok: false,
    service_tier: row.lines[0]?.tierName ?? null,
    request_id: row.requestId,
    ...CURRENCY,
    ...UNKNOWN,
  }
}

/** What OpenRouter's clients expect beside it, and nobody here knows, or nobody is told. */
const UNKNOWN = {
  app_id: null,
  cache_discount: null,
  data_region: 'global',
  external_user: null,
  http_referer: null,
  moderation_latency: null,
  origin: '',
  preset_id: null,
  provider_responses: null,
  response_cache_source_id: null,
  router: null,
  session_id: null,
  upstream_inference_cost: null,
  user_agent: null,
  web_search_engine: null,
  workspace_id: null,
}
