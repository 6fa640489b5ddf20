/**
 * The catalogue: the models of the public groups for everybody, and those of an account's own groups for its members. What
 * it is made of, and what never leaves, stands in lib/operations/catalogue/public-catalogue.ts.
 */
import { z } from 'zod'
import { operation } from '../../api/operation.ts'
import { MODEL_STATES } from '../../operations/catalogue/public-catalogue.ts'
import * as kind from '../../config/scalars.ts'
import { ROLES } from '../../base/people.ts'
import { CLIENT_PROTOCOLS } from '../../protocols/names.ts'
import { IMAGE_FORMS } from '../../terms/records.ts'
import type { ConsoleDeps } from './shared.ts'

/** Decimals without an exponent, as exact as prices are. */
const decimal = z.string().regex(/^\d+(\.\d{1,12})?$/)
const time = z.iso.datetime()

const price = z
  .strictObject({
    lists: z.array(
      z.strictObject({
        over: z
          .number()
          .nullable()
          .meta({ description: 'These prices are for prompts of more tokens; null: all others.' }),
        prices: z
          .record(z.string(), decimal)
          .meta({ description: 'CNY per million tokens and characters, and per piece of all others, by class.' }),
        images: z
          .record(z.string(), decimal)
          .meta({ description: 'CNY per picture, by `size/quality`, `size` and `default`.' }),
      }),
    ),
    tiers: z
      .record(z.string(), decimal)
      .meta({ description: 'Factors on prices of tokens, by service tier, speed and place.' }),
    search_unit: z
      .enum(['query', 'prompt'])
      .meta({ description: 'Whether each search is charged, or once a request that searched.' }),
  })
  .meta({ id: 'ModelPrice' })

const figures = z
  .strictObject({
    answered_share: z.number().min(0).max(1).nullable(),
    first_byte_up_to_ms: z
      .number()
      .nullable()
      .meta({ description: 'Half of the answers had their first byte within this bound.' }),
  })
  .meta({ id: 'ModelFigures', description: 'How a model fared; null where there were too few requests to tell.' })

const state = z.enum(MODEL_STATES)
const group = z.string().nullable().meta({ description: 'The group that was chosen; null: there is none.' })
const groups = z.array(z.string()).meta({ description: 'The groups among which the reader can choose.' })

const model = z
  .strictObject({
    name: z.string(),
    family: z.string().nullable(),
    vendor: z.string().nullable(),
    protocols: z.array(z.enum(CLIENT_PROTOCOLS)),
    translated: z
      .array(z.enum(CLIENT_PROTOCOLS))
      .meta({ description: 'Those of the protocols that no upstream of the model speaks: requests are translated.' }),
    state,
    since: time.nullable().meta({ description: 'Since when it is offline.' }),
    price: price.nullable(),
    max_output: z.number().nullable(),
    max_input: z.number(),
    context: z.number().nullable().meta({ description: 'Tokens of a prompt and its answer; null: not known.' }),
    input_modalities: z.array(z.string()).nullable().meta({ description: 'null: not known.' }),
    output_modalities: z.array(z.string()),
    image_form: z
      .enum(IMAGE_FORMS)
      .nullable()
      .meta({ description: '`url`: links, or base64 when asked; `base64`: base64 only; null: not known.' }),
    figures: z.strictObject({ day: figures, week: figures }),
  })
  .meta({ id: 'CatalogueModel' })

const catalogue = z.strictObject({ group, groups, models: z.array(model) }).meta({ id: 'Catalogue' })

const status = z
  .strictObject({
    group,
    groups,
    from: z.iso
      .date()
      .meta({ description: 'The first of the days; they begin at midnight of the `zone` of the config.' }),
    models: z.array(
      z.strictObject({
        name: z.string(),
        family: z.string().nullable(),
        state,
        since: time.nullable(),
        days: z
          .array(z.number().min(0).max(1).nullable())
          .meta({ description: 'Share of answered requests on each day; null where there were too few to tell.' }),
      }),
    ),
    incidents: z.array(
      z.strictObject({
        model: z.string(),
        from: time,
        until: time.nullable(),
        answered_share: z.number().min(0).max(1).meta({ description: 'Of the worst hour.' }),
      }),
    ),
  })
  .meta({ id: 'Status' })

const history = z
  .strictObject({
    group: z.string(),
    model: z.string(),
    data: z.array(z.strictObject({ from: time, until: time.nullable(), price })),
  })
  .meta({ id: 'PriceHistory' })

const chosen = z.strictObject({ group: kind.name.optional() })
const named = z.strictObject({ model: kind.modelName })

/** Time for which browsers may show what was true before. */
const CACHE_S = 5

const anyone = { who: 'anyone', effect: 'read', scope: 'read', refuses: [404], cacheS: CACHE_S } as const

export const CATALOGUE = [
  operation<ConsoleDeps, unknown, z.output<typeof chosen>, unknown>({
    ...anyone,
    id: 'catalogue.models',
    call: 'GET /catalogue/models',
    summary: 'The models of a public group, with what they cost there.',
    query: chosen,
    answer: { status: 200, body: catalogue },
    run: ({ catalogue }, { query }) => catalogue.models(query.group),
  }),
  operation<ConsoleDeps, unknown, z.output<typeof chosen>, unknown>({
    ...anyone,
    id: 'catalogue.document',
    call: 'GET /models.json',
    at: 'root',
    page: true,
    summary: 'The same for programs, at an address that stays.',
    query: chosen,
    answer: { status: 200, body: catalogue },
    run: ({ catalogue }, { query }) => catalogue.models(query.group),
  }),
  operation<ConsoleDeps, z.output<typeof named>, z.output<typeof chosen>, unknown>({
    ...anyone,
    id: 'catalogue.prices',
    call: 'GET /catalogue/models/{model}/prices',
    summary: 'What a model of a public group has cost there, newest first.',
    path: named,
    query: chosen,
    answer: { status: 200, body: history },
    run: ({ catalogue }, { path, query }) => catalogue.prices(path.model, query.group),
  }),
  operation<ConsoleDeps, unknown, z.output<typeof chosen>, unknown>({
    ...anyone,
    id: 'catalogue.status',
    call: 'GET /catalogue/status',
    summary: 'How the models of a public group are, and how they fared day by day.',
    query: chosen,
    answer: { status: 200, body: status },
    run: ({ catalogue }, { query }) => catalogue.status(query.group),
  }),
  operation<ConsoleDeps, unknown, z.output<typeof chosen>, unknown>({
    id: 'catalogue.own',
    call: 'GET /accounts/{account}/models',
    summary: 'The models of a group of the account, also those that have no price yet.',
    who: ROLES,
    scope: 'read',
    refuses: [404],
    query: chosen,
    answer: { status: 200, body: catalogue },
    run: ({ catalogue }, { account, query }) => catalogue.modelsOf(account.groups, query.group),
  }),
]
