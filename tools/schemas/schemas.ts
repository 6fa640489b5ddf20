// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how our YAML files name variables
/**
 * Generates, from the schemas of the config and of the catalogue file, the JSON Schemas for editors and the tables of
 * settings in `docs/config.md`. `generate.ts` writes the result to disk.
 */
import { z } from 'zod'
import { catalogSchema } from '../../lib/catalog-file/schema.ts'
import { configSchema } from '../../lib/config/config.ts'

interface Json {
  type?: string | string[]
  description?: string
  default?: unknown
  properties?: Record<string, Json>
  required?: string[]
  items?: Json
  pattern?: string
  enum?: unknown[]
  anyOf?: Json[]
}

/** Every text may contain `${NAME}` instead of its own form, so the JSON Schema must allow that too. */
const VARIABLE = '\\$\\{'

/** The JSON Schema of a file as people write it, before defaults and conversions. */
function jsonSchema(schema: z.ZodType, title: string): Json {
  return z.toJSONSchema(schema, {
    io: 'input',
    override: ({ zodSchema, jsonSchema: json, path }) => {
      if (path.length === 0) json.title = title
      if (zodSchema._zod.def.type !== 'pipe') return
      if (json.pattern !== undefined) json.pattern += `|${VARIABLE}`
      if (json.enum !== undefined) {
        json.anyOf = [{ enum: json.enum }, { type: 'string', pattern: VARIABLE }]
        delete json.enum
        delete json.type
      }
    },
  }) as Json
}

/** A Markdown table with one row for every setting and every section. */
function table(root: Json): string {
  const rows: string[] = []
  const visit = (json: Json, path: string): void => {
    for (const [key, child] of Object.entries(json.properties ?? {})) {
      const at = path === '' ? key : `${path}.${key}`
      const fallback = json.required?.includes(key) ? 'required' : shownDefault(child)
      rows.push(`| \`${at}\` | ${fallback} | ${child.description ?? ''} |`)
      visit(child, at)
      if (child.items !== undefined) visit(child.items, `${at}[]`)
    }
  }
  visit(root, '')
  return ['| setting | default | meaning |', '|---|---|---|', ...rows].join('\n')
}

function shownDefault({ default: value }: Json): string {
  if (value === undefined) return '–'
  if (typeof value !== 'object' || value === null) return `\`${value}\``
  if (Array.isArray(value)) return `\`[${value.join(', ')}]\``
  const entries = Object.entries(value).map(([key, one]) => `${key}: ${one}`)
  return entries.length === 0 ? '–' : `\`{ ${entries.join(', ')} }\``
}

/**
 * Returns the document with each table between its pair of marker comments replaced. Throws when a marker is missing.
 */
export function withTables(document: string, tables: Record<string, string>): string {
  for (const [name, text] of Object.entries(tables)) {
    const [start, end] = [`<!-- settings of ${name} -->`, `<!-- end of ${name} -->`]
    const [from, to] = [document.indexOf(start), document.indexOf(end)]
    if (from < 0 || to < from) throw new Error(`no place for the settings of ${name} in the document`)
    document = `${document.slice(0, from + start.length)}\n${text}\n${document.slice(to)}`
  }
  return document
}

/**
 * Returns the generated files: path in the checkout → text. `configDocument` is the present text of `docs/config.md`,
 * of which only the tables are generated.
 */
export function generatedFiles(configDocument: string): Record<string, string> {
  const config = jsonSchema(configSchema, 'Gateway config')
  const catalog = jsonSchema(catalogSchema, 'Gateway catalogue')
  return {
    'config/gateway.schema.json': `${JSON.stringify(config, null, 2)}\n`,
    'config/catalog.schema.json': `${JSON.stringify(catalog, null, 2)}\n`,
    'docs/config.md': withTables(configDocument, { 'gateway.yaml': table(config), 'catalog.yaml': table(catalog) }),
  }
}
