/**
 * LiteLLM's list `model_prices_and_context_window.json`: a map of model names to fields, whose prices are in USD per
 * token or per piece. Tables say which field is which of our prices. Whatever has to do with money and finds no place in our
 * prices becomes a note of its model.
 *
 * The list names a price for each class of tokens in a service tier; ours are one factor for all. So a tier is taken only
 * where its prices are the same multiple of the others, exactly.
 */
import { type Fee, TOKEN_CLASSES, type TokenClass } from '../../protocols/words/usage.ts'
import {
  type Exact,
  MILLION,
  compare,
  exact,
  largest,
  ratio,
  roundedUp,
  times,
  type ListedPrice,
  Problems,
  type IsWanted,
  newListedPrice,
  parseJson,
} from './listed-price.ts'
import { isMap } from '../read.ts'

/** A price of tokens: perhaps of prompts above so many thousand tokens, perhaps of a tier. */
const TOKENS =
  /^(?<base>.+?)(?:_above_(?<thousands>\d{1,6})k_tokens)?(?:_(?<tier>priority|flex|batches|batch_requests))?$/
const REASONING = 'output_cost_per_reasoning_token'

export function readLitellm(text: string, file: string, wanted: IsWanted): ListedPrice[] {
  const problems = new Problems(file)
  const document = parseJson(text, file)
  if (!isMap(document)) problems.add('', 'expected a map of models, as LiteLLM’s model_prices_and_context_window.json')
  const offers: ListedPrice[] = []
  for (const [model, fields] of Object.entries(isMap(document) ? document : {})) {
    // The list begins with a model that explains the fields.
    if (model === 'sample_spec' || !wanted(model)) continue
    if (isMap(fields)) offers.push(readEntry(new ModelEntry(model, fields, problems)))
    else problems.add(` ${model}`, 'expected a map of fields')
  }
  problems.throwIfAny()
  return offers
}

function readEntry(entry: ModelEntry): ListedPrice {
  const { offer, fields } = entry
  offer.maxOutput = limit(fields['max_output_tokens'])
  offer.maxInput = limit(fields['max_input_tokens'])
  const tiers: TierPrice[] = []
  for (const [field, value] of Object.entries(fields)) {
    if (value === null || !MONEY.test(field) || field === REASONING) continue
    const part = PARTS[field]
    if (part === undefined) readField(entry, field, value, tiers)
    else part(entry, field, value)
  }
  noteReasoning(entry)
  if (offer.amounts.has('output_image') && offer.amounts.delete('image'))
    offer.notes.push('output_cost_per_image: not taken, because the tokens of pictures have a price')
  fillLists(offer.amounts)
  addTiers(offer, tiers)
  offer.amounts = new Map([...offer.amounts].sort(([a], [b]) => order(a) - order(b)))
  return offer
}

function readField(entry: ModelEntry, field: string, value: unknown, tiers: TierPrice[]): void {
  const { base, thousands, tier } = TOKENS.exec(field)?.groups ?? {}
  const name = TOKEN_FIELDS[base!]
  const fee = FEE_MODES[field]?.(String(entry.fields['mode']))
  if (fee === undefined && name === undefined) {
    entry.note(field, value)
    return
  }
  const amount = entry.amount(field, value)
  if (amount === null) return
  const { amounts } = entry.offer
  if (fee !== undefined) {
    const unit = fee === 'character' ? times(amount, MILLION) : amount
    // Where two fields name the same fee, as seconds of input and of output do, the larger counts.
    amounts.set(fee, largest([unit, amounts.get(fee) ?? unit]))
    return
  }
  const path = thousands === undefined ? name! : `over.${Number(thousands) * 1000}.${name}`
  if (tier === undefined) amounts.set(path, times(amount, MILLION))
  else tiers.push({ tier, path, field, amount: times(amount, MILLION) })
}

/** Reasoning costs as output, so only a price that says otherwise is worth a note. */
function noteReasoning(entry: ModelEntry): void {
  const value = entry.fields[REASONING]
  const amount = exact(value)
  const output = entry.offer.amounts.get('output')
  if (amount === null || (output !== undefined && compare(times(amount, MILLION), output) === 0)) return
  entry.note(REASONING, value)
}

/** Input and output that a list for large prompts leaves out cost what they cost otherwise. */
function fillLists(amounts: Map<string, Exact>): void {
  const lists = new Set([...amounts.keys()].flatMap(path => /^over\.\d+/.exec(path) ?? []))
  for (const list of lists)
    for (const name of ['input', 'output']) {
      const base = amounts.get(name)
      if (base !== undefined && !amounts.has(`${list}.${name}`)) amounts.set(`${list}.${name}`, base)
    }
}

const ORDER: readonly string[] = TOKEN_CLASSES
const order = (path: string): number => {
  const place = ORDER.indexOf(path)
  return path.startsWith('over.') ? ORDER.length + 1 : place < 0 ? ORDER.length : place
}

const limit = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= 1_000_000_000 ? value : null

/** Fields with such names are about money. */
export const MONEY = /cost|pric|multiplier|uplift|provider_specific_entry/

/** Prices of one token in USD. */
const TOKEN_FIELDS: Record<string, TokenClass> = {
  input_cost_per_token: 'input',
  input_cost_per_audio_token: 'input_audio',
  input_cost_per_image_token: 'input_image',
  cache_read_input_token_cost: 'cache_read',
  cache_read_input_audio_token_cost: 'cache_read_audio',
  cache_read_input_image_token_cost: 'cache_read_image',
  cache_creation_input_token_cost: 'cache_write_5m',
  cache_creation_input_token_cost_above_1hr: 'cache_write_1h',
  output_cost_per_token: 'output',
  output_cost_per_audio_token: 'output_audio',
  output_cost_per_image_token: 'output_image',
}

/** A fee in models of these modes. In others the field means something else. */
const inModes =
  (fee: Fee, ...modes: string[]) =>
  (mode: string): Fee | undefined =>
    modes.includes(mode) ? fee : undefined

const SOUND = ['audio_transcription', 'audio_speech']

/** Prices of one piece in USD, by the model's `mode`. */
const FEE_MODES: Record<string, (mode: string) => Fee | undefined> = {
  output_cost_per_image: () => 'image',
  // Of models that make pictures an older part of the list names a picture's price so; of others it is that of one sent.
  input_cost_per_image: inModes('image', 'image_generation', 'image_edit'),
  input_cost_per_request: () => 'request',
  input_cost_per_query: inModes('request', 'rerank'),
  input_cost_per_second: inModes('second', ...SOUND),
  output_cost_per_second: inModes('second', ...SOUND),
  input_cost_per_character: inModes('character', 'audio_speech'),
}

const LONGEST_NOTE = 100

class ModelEntry {
  readonly fields: Record<string, unknown>
  readonly offer: ListedPrice
  readonly #problems: Problems

  constructor(model: string, fields: Record<string, unknown>, problems: Problems) {
    this.fields = fields
    this.offer = newListedPrice(model, ` ${model}`)
    this.#problems = problems
  }

  /** The number that stands in a field; null after a problem was reported. */
  amount(field: string, value: unknown): Exact | null {
    const amount = exact(value)
    if (amount === null) this.#problems.add(`${this.offer.where}.${field}`, 'expected a number, 0 or more')
    return amount
  }

  /** Remembers a field for which we have no place, unless it says that something costs nothing. */
  note(field: string, value: unknown): void {
    const text = JSON.stringify(value) ?? ''
    if (exact(value)?.digits === 0n || text === '{}' || text === '[]') return
    this.offer.notes.push(`${field}: ${text.length > LONGEST_NOTE ? `${text.slice(0, LONGEST_NOTE)}…` : text}`)
  }
}

/** Searches cost by how much they bring along, which no answer reports: the dearest counts. */
function searches(entry: ModelEntry, field: string, value: unknown): void {
  const sizes = isMap(value) ? Object.entries(value) : []
  const amounts = sizes.flatMap(([size, one]) => entry.amount(`${field}.${size}`, one) ?? [])
  if (amounts.length === 0) {
    entry.note(field, value)
    return
  }
  const most = largest(amounts)
  entry.offer.amounts.set('web_search', most)
  if (amounts.some(one => compare(one, most) < 0)) entry.offer.notes.push(`${field}: the dearest counts for every size`)
}

/** Factors by speed (`fast`) and by country (`us`). */
function factors(entry: ModelEntry, field: string, value: unknown): void {
  if (!isMap(value)) entry.note(field, value)
  for (const [name, factor] of isMap(value) ? Object.entries(value) : []) {
    const amount = exact(factor)
    const tier = name === 'fast' ? name : /^[a-z]{2}$/.test(name) ? `geo:${name}` : null
    const text = amount === null ? null : roundedUp(amount)
    if (tier === null || text === null) entry.note(`${field}.${name}`, factor)
    else entry.offer.plain.set(`tiers.${tier}`, text)
  }
}

/** `range` has the sizes of the prompt between which the prices beside it count. */
function ranges(entry: ModelEntry, field: string, value: unknown): void {
  const lists = Array.isArray(value) ? value.filter(isMap) : []
  const starts = lists.map(({ range }) => (Array.isArray(range) ? exact(range[0]) : null))
  if (starts.length === 0 || starts.some(start => start === null || start.places > 0)) {
    entry.note(field, value)
    return
  }
  for (const [i, list] of lists.entries()) {
    const above = starts[i]!.digits
    for (const [name, one] of Object.entries(list)) {
      if (!MONEY.test(name) || one === null) continue
      const at = `${field}[${i}].${name}`
      const known = TOKEN_FIELDS[name]
      const amount = known === undefined ? null : entry.amount(at, one)
      if (known === undefined) entry.note(at, one)
      else if (amount !== null)
        entry.offer.amounts.set(above === 0n ? known : `over.${above}.${known}`, times(amount, MILLION))
    }
  }
}

/** The price of the smallest container; a 0 says that nobody knows it. The others cost more, and the list does not say what. */
function container(entry: ModelEntry, field: string, value: unknown): void {
  const amount = entry.amount(field, value)
  if (amount === null || amount.digits === 0n) return
  entry.offer.amounts.set('container.1g', amount)
  entry.offer.notes.push(`${field}: taken for a container of 1g; larger ones stay without a price, and are refused`)
}

export const PARTS: Record<string, (entry: ModelEntry, field: string, value: unknown) => void> = {
  search_context_cost_per_query: searches,
  code_interpreter_cost_per_session: container,
  provider_specific_entry: factors,
  tiered_pricing: ranges,
}

interface TierPrice {
  /** The end of the field's name. */
  tier: string
  /** The path of the price that the tier changes. */
  path: string
  field: string
  amount: Exact
}

/** How upstreams name the tier. */
const NAMES: Record<string, string> = { batches: 'batch', batch_requests: 'batch' }

function addTiers(offer: ListedPrice, prices: readonly TierPrice[]): void {
  const names = new Set(prices.map(({ tier }) => NAMES[tier] ?? tier))
  for (const name of names) {
    const own = prices.filter(({ tier }) => (NAMES[tier] ?? tier) === name)
    const factor = factorOf(offer, own)
    if (factor !== null) offer.plain.set(`tiers.${name}`, factor)
    else offer.notes.push(`${own.map(({ field }) => field).join(', ')}: not one factor of the other prices`)
  }
}

/** null = there is none. */
function factorOf({ amounts }: ListedPrice, prices: readonly TierPrice[]): string | null {
  const pairs = prices.map(({ path, amount }) => [amount, amounts.get(path)] as const)
  const known = pairs.filter((pair): pair is [Exact, Exact] => pair[1] !== undefined)
  if (known.length < pairs.length) return null
  // What is free is free in every tier.
  const counting = known.filter(([amount, base]) => amount.digits !== 0n || base.digits !== 0n)
  const [first] = counting
  if (first === undefined || counting.some(([, base]) => base.digits === 0n)) return null
  const same = counting.every(([amount, base]) => compare(times(amount, first[1]), times(first[0], base)) === 0)
  return same ? ratio(first[0], first[1]) : null
}
