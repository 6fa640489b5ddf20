/**
 * Imports a price list: LiteLLM's, our own, or a CSV. The whole list is read first, and when something in it is wrong
 * nothing is imported. A model's price becomes what the list says, times the rate of exchange and a factor, in exact
 * decimals, and each amount rounded up at the sixth place. `litellm.ts` and `own-lists.ts` read the forms of lists.
 */
import { z } from 'zod'
import type { Store } from '../../store/store.ts'
import { PRICE_IMPORT } from '../../store/catalogue/prices.ts'
import { DEFAULT_OUTPUT, MODEL_DEFAULTS } from '../../catalog-file/schema.ts'
import type { Actor } from '../../base/people.ts'
import type { Model, Price } from '../../terms/records.ts'
import type { Config } from '../../config/config.ts'
import { act, inForce, type OperationDeps } from '../deps.ts'
import { OperationError } from '../error.ts'
import { type ChangeTerms, judgeChange } from './judging.ts'
import { readModel } from './catalogue.ts'
import { readCsv, readGateway } from './own-lists.ts'
import { type Exact, exact, roundedUp, times, type ListedPrice, Problems, type IsWanted } from './listed-price.ts'
import { readLitellm } from './litellm.ts'
import { readPrice, setPaths, type PriceChanges, priceChanges } from './prices.ts'

const READERS = { litellm: readLitellm, gateway: readGateway, csv: readCsv }
export type ListFormat = keyof typeof READERS

export interface ListFile {
  text: string
  /** Name of the file, for problems. */
  file: string
  format: ListFormat
}

export interface ImportOptions {
  /** CNY for one unit of the list's currency, and a further factor; decimals. */
  rate: string
  factor: string
  /** Only models whose names match: `*` stands for any characters, `?` for one. */
  match: string | null
  /** Whether models that do not exist are made. */
  make: boolean
  /** Whether a model is imported of which everything is free. */
  free: boolean
}

const OUTCOMES = ['new', 'changed', 'same', 'absent', 'skipped'] as const

/**
 * What becomes of a model of the list. `absent`: it does not exist and is not made. `skipped`: the list has no price for
 * it that we could take.
 */
export interface Planned {
  model: string
  outcome: (typeof OUTCOMES)[number]
  changes: PriceChanges
  /** What is not imported, in words. */
  notes: string[]
  /** null when the model is skipped. */
  price: Price | null
  /** What the list says of a model beside its price, and nobody has said yet. */
  limits: Partial<Pick<Model, 'context' | 'searches'>>
  row: Model | null
}

interface ReadList {
  list: ListFile
  options: ImportOptions
  factor: Exact
  offers: ListedPrice[]
}

/** Throws ConfigError with the problems of the list, OperationError when an option is wrong. */
export function readImport(list: ListFile, options: ImportOptions): ReadList {
  const factor = times(positive('rate', options.rate), positive('factor', options.factor))
  return { list, options, factor, offers: READERS[list.format](list.text, list.file, wantedBy(options.match)) }
}

/** Throws ConfigError with the prices of the list that cannot be. */
export async function planImport(store: Store, { list, options, factor, offers }: ReadList): Promise<Planned[]> {
  const models = new Map((await store.catalogue.read()).models.map(model => [model.name, model]))
  const problems = new Problems(list.file)
  // What LiteLLM knows of some model is not our fault; what stands in a list that was written for us is.
  const strict = list.format !== 'litellm'
  const planned = offers.map(offer => plan(offer, factor, models, options, strict ? problems : null))
  problems.throwIfAny()
  return planned
}

/** What sense says of the models that were planned, as lines. Throws OperationError `invalid` for what it refuses. */
export const judgeImport = (
  store: Pick<Store, 'catalogue'>,
  planned: readonly Planned[],
  terms: ChangeTerms,
): Promise<string[]> => {
  const rows = writtenOf(planned).flatMap(({ row, price }) => (row === null ? [] : [{ ...row, price }]))
  const names = rows.map(({ name }) => ({ kind: 'models' as const, name }))
  return judgeChange(store, terms, names, ({ models }) => {
    const changed = new Map(rows.map(row => [row.name, row]))
    const there = new Set(models.map(({ name }) => name))
    return {
      models: [...models.map(row => changed.get(row.name) ?? row), ...rows.filter(({ name }) => !there.has(name))],
    }
  })
}

const writtenOf = (planned: readonly Planned[]): Planned[] =>
  planned.filter(({ outcome }) => outcome === 'new' || outcome === 'changed')

/** Writes what was planned, a model at a time, and returns how many were written. */
export async function runImport(store: Store, planned: readonly Planned[], actor: Actor): Promise<number> {
  const written = writtenOf(planned)
  for (const { model, outcome, price, limits, row } of written) {
    const made = outcome === 'new' ? row : null
    const edit = (there: Model | null) => (there === null ? made : { ...there, price, ...limits })
    await store.catalogue.editModel(model, edit, act(actor, PRICE_IMPORT))
  }
  return written.length
}

function plan(
  offer: ListedPrice,
  factor: Exact,
  models: ReadonlyMap<string, Model>,
  { make, free }: ImportOptions,
  problems: Problems | null,
): Planned {
  const { model, notes } = offer
  const there = models.get(model)
  const skipped = (note: string): Planned => ({
    model,
    outcome: 'skipped',
    changes: {},
    notes: [note, ...notes],
    price: null,
    limits: {},
    row: null,
  })
  if (there === undefined && !make) return { ...skipped('there is no such model'), outcome: 'absent' }
  if (offer.amounts.size === 0) return skipped('it has no price that could be taken')
  if (problems === null && !free && [...offer.amounts.values()].every(({ digits }) => digits === 0n))
    return skipped('everything is free in the list')
  try {
    const price = readPrice(setPaths({}, [...converted(offer, factor), ...offer.plain]))
    const context = contextOf(offer, price, there)
    const searches = offer.searches && there?.searches !== 'always'
    const limits = { ...(context === null ? {} : { context }), ...(searches ? { searches: 'always' as const } : {}) }
    const changes = {
      ...priceChanges(there?.price ?? null, price),
      ...contextChange(context),
      ...(searches ? SEARCHES_ALWAYS : {}),
    }
    const outcome = there === undefined ? 'new' : Object.keys(changes).length === 0 ? 'same' : 'changed'
    return { model, outcome, changes, notes, price, limits, row: { ...(there ?? newModel(offer, price)), ...limits } }
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
    problems?.add(offer.where, error.message)
    return skipped(error.message)
  }
}

/**
 * null: the list does not say it, or the model has one already, or there are prices for larger prompts than the list allows, so
 * that what it allows cannot be true.
 */
function contextOf({ maxInput }: ListedPrice, { over = [] }: Price, there: Model | undefined): number | null {
  const isSaid = there !== undefined && there.context !== MODEL_DEFAULTS.context
  if (maxInput === null || isSaid || over.some(({ tokens }) => tokens >= maxInput)) return null
  return maxInput === MODEL_DEFAULTS.context ? null : maxInput
}

const contextChange = (context: number | null): PriceChanges =>
  context === null ? {} : { context: { before: null, after: String(context) } }

const converted = ({ amounts }: ListedPrice, factor: Exact): [string, string][] =>
  [...amounts].map(([path, amount]) => {
    const text = roundedUp(times(amount, factor))
    if (text === null) throw new OperationError('invalid', `${path}: expected a smaller amount`)
    return [path, text]
  })

/** The model's name says that it searches for every request. */
const SEARCHES_ALWAYS: PriceChanges = { searches: { before: null, after: 'always' } }

function newModel({ model, maxOutput, maxInput }: ListedPrice, price: Price): Model {
  const limits = {
    ...(maxOutput === null ? {} : { max_output: maxOutput, default_output: Math.min(DEFAULT_OUTPUT, maxOutput) }),
    ...(maxInput === null ? {} : { max_input: maxInput }),
  }
  return { ...readModel({ name: model, ...limits }), price }
}

function positive(name: string, text: string): Exact {
  const value = exact(text)
  if (value === null || value.digits === 0n)
    throw new OperationError('invalid', `${name}: expected a decimal number above 0`)
  return value
}

/** `*` stands for any characters, `?` for one. */
function wantedBy(glob: string | null): IsWanted {
  if (glob === null) return () => true
  const pattern = glob
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll(/\*+/g, '.*')
    .replaceAll('?', '.')
  const all = new RegExp(`^${pattern}$`, 's')
  return model => all.test(model)
}

/** Most characters of a list. */
export const MOST_LIST = 20 * 1024 * 1024

export const importForm = z.strictObject({
  text: z.string().max(MOST_LIST),
  file: z.string().max(1_000),
  format: z.enum(Object.keys(READERS) as [ListFormat, ...ListFormat[]]),
  rate: z.string().optional(),
  factor: z.string().prefault('1'),
  match: z.string().max(1_000).optional(),
  existing: z.boolean().prefault(false),
  free: z.boolean().prefault(false),
  force: z.boolean().prefault(false),
  dry_run: z.boolean().prefault(false),
})

type ImportForm = z.output<typeof importForm>

export const importAnswer = z
  .strictObject({
    models: z.array(
      z.strictObject({
        model: z.string(),
        outcome: z.enum(OUTCOMES),
        changes: z.record(z.string(), z.strictObject({ before: z.string().nullable(), after: z.string().nullable() })),
        notes: z.array(z.string()),
      }),
    ),
    warnings: z.array(z.string()).optional(),
  })
  .meta({ id: 'PriceImport' })

/** Reads the list and the options that were sent. Throws ConfigError, and OperationError for an option. */
export function readSentList({ text, file, format, rate, factor, match, existing, free }: ImportForm): ReadList {
  if (rate === undefined && format === 'litellm')
    throw new OperationError('invalid', 'rate: expected how many CNY one USD is, because the list is in USD')
  return readImport({ text, file, format }, { rate: rate ?? '1', factor, match: match ?? null, make: !existing, free })
}

type ImportDeps = Pick<OperationDeps, 'store' | 'fleet' | 'log'> & { config: () => Config }

export async function importSent(
  deps: ImportDeps,
  sent: ImportForm,
  actor: Actor,
): Promise<z.infer<typeof importAnswer>> {
  const planned = await planImport(deps.store, readSentList(sent))
  const warnings = await judgeImport(deps.store, planned, { config: deps.config(), accept: [], force: sent.force })
  if (!sent.dry_run) {
    await runImport(deps.store, planned, actor)
    await inForce(deps)
  }
  return {
    models: planned.map(({ model, outcome, changes, notes }) => ({ model, outcome, changes, notes })),
    ...(warnings.length === 0 ? {} : { warnings }),
  }
}
