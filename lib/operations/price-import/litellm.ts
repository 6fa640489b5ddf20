/**
 * LiteLLM's list `model_prices_and_context_window.json`: a map of model names to fields, whose prices are in USD per
 * token or per piece. `litellm-fields.ts` says which field is which of our prices, `litellm-parts.ts` reads fields with
 * several prices, `litellm-tiers.ts` prices of service tiers. Whatever has to do with money and finds no place in our
 * prices becomes a note of its model.
 */
import { TOKEN_CLASSES } from '../../terms/records.ts'
import { compare, type Exact, exact, largest, MILLION, times } from './exact.ts'
import { Entry } from './litellm-entry.ts'
import { FEE_MODES, MONEY, TOKEN_FIELDS } from './litellm-fields.ts'
import { PARTS } from './litellm-parts.ts'
import { addTiers, type TierPrice } from './litellm-tiers.ts'
import { isMap, type Offer, Problems, parseJson, type Wanted } from './offer.ts'

/** A price of tokens: perhaps of prompts above so many thousand tokens, perhaps of a tier. */
const TOKENS =
  /^(?<base>.+?)(?:_above_(?<thousands>\d{1,6})k_tokens)?(?:_(?<tier>priority|flex|batches|batch_requests))?$/
const REASONING = 'output_cost_per_reasoning_token'

export function readLitellm(text: string, file: string, wanted: Wanted): Offer[] {
  const problems = new Problems(file)
  const document = parseJson(text, file)
  if (!isMap(document)) problems.add('', 'expected a map of models, as LiteLLM’s model_prices_and_context_window.json')
  const offers: Offer[] = []
  for (const [model, fields] of Object.entries(isMap(document) ? document : {})) {
    // The list begins with a model that explains the fields.
    if (model === 'sample_spec' || !wanted(model)) continue
    if (isMap(fields)) offers.push(readEntry(new Entry(model, fields, problems)))
    else problems.add(` ${model}`, 'expected a map of fields')
  }
  problems.throwIfAny()
  return offers
}

function readEntry(entry: Entry): Offer {
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

function readField(entry: Entry, field: string, value: unknown, tiers: TierPrice[]): void {
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
function noteReasoning(entry: Entry): void {
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
