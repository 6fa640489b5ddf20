/** The commands about prices and their options; `price-commands.ts` does what they say. */
import { type Command, Option } from 'commander'
import type { ListFormat } from '../operations/catalogue/price-import.ts'
import type { PriceFlags } from './price-commands.ts'
import { say } from './output.ts'

type MakeCommand = (name: string, description: string) => Command

interface Flags {
  config: string
  json?: true
  dryRun?: true
  force?: true
}

interface ImportFlags extends Flags {
  format?: ListFormat
  rate?: string
  factor: string
  match?: string
  existing?: true
  free?: true
}

const FORCE = 'also what the rules of sense refuse'

const PATHS = `
A price is named as in the catalogue: input, output, cache_read, cache_write_5m, cache_write_1h, input_audio,
output_audio, input_image, output_image, cache_read_audio, cache_read_image, image, request, web_search, second,
character, maps, code_execution, search_unit. Within maps and lists: image.1024x1536, container.4g, tools.NAME, tiers.priority, over.200000.input. PRICE= without
an amount takes the price away.

  bin/gateway prices set alpha-sonnet-5-5 input=21 output=105 over.200000.input=42 over.200000.output=157.5`

const FORMATS = `
Formats (default: by the end of the file's name, .csv, .yaml or .yml for gateway, else litellm):
  litellm  LiteLLM's model_prices_and_context_window.json, in USD
  gateway  models with name and price, as in a catalogue file or as prices list --json prints them
  csv      a header line with "model" and names of prices as prices set takes them, then a line for each model

Each amount of the list is multiplied by rate and factor and rounded up at the sixth place. The price of a model
becomes what the list says; what the list does not name is taken away. Of LiteLLM's list, models of which
everything is free are skipped. When something in a list is wrong, nothing is imported.`

const wantedOf = ({ config, json }: Flags): PriceFlags => ({
  config,
  json: json === true,
  terminal: process.stdout.isTTY,
})

/** `group` makes a command that only has commands of its own. */
export function addPrices(group: (name: string, description: string) => MakeCommand): void {
  const command = group('prices', 'what models cost, and have cost')
  const of = (name: string, description: string) => command(name, description).option('--json', 'print JSON')
  of('list', 'list what all models cost')
    .option('--at <time>', 'what they cost at this time')
    .action(async (flags: Flags & { at?: string }) => {
      const { listPrices } = await import('./price-commands.ts')
      say(await listPrices(wantedOf(flags), flags.at))
    })
  of('show', 'show every price of a model')
    .argument('<model>', 'name of the model')
    .action(async (model: string, flags: Flags) => {
      const { showPriceOf } = await import('./price-commands.ts')
      say(await showPriceOf(wantedOf(flags), model))
    })
  of('history', 'show the prices that a model has had, newest first, also of a deleted model')
    .argument('<model>', 'name of the model')
    .option('--limit <n>', 'how many versions are shown (default: 100)')
    .option('--after <version>', 'only those before this version')
    .action(async (model: string, flags: Flags & { limit?: string; after?: string }) => {
      const { showHistory } = await import('./price-commands.ts')
      const { limit, after } = flags
      const page = { ...(limit === undefined ? {} : { limit }), ...(after === undefined ? {} : { after }) }
      say(await showHistory(wantedOf(flags), model, page))
    })
  of('set', 'change some prices of a model; the others stay')
    .argument('<model>', 'name of the model')
    .argument('<price=amount...>', 'prices in CNY')
    .option('--dry-run', 'only show what would change')
    .option('--force', FORCE)
    .addHelpText('after', PATHS)
    .action(async (model: string, assignments: string[], flags: Flags) => {
      const { setPrice } = await import('./price-commands.ts')
      const { dryRun, force } = flags
      say(await setPrice(wantedOf(flags), model, assignments, { dry: dryRun === true, force: force === true }))
    })
  addImport(of('import', 'take the prices of a list; models that do not exist are made'))
}

function addImport(command: Command): void {
  command
    .argument('<file>', 'price list of at most 20 MiB')
    .addOption(
      new Option('--format <format>', 'form of the list').choices(['litellm', 'gateway', 'csv'] satisfies ListFormat[]),
    )
    .option('--rate <cny>', "CNY for one unit of the list's currency (default: 1; needed for litellm)")
    .option('--factor <factor>', 'factor on every price', '1')
    .option('--match <glob>', 'only models with such names: * stands for any characters, ? for one')
    .option('--existing', 'make no models')
    .option('--free', "take models of which everything is free in LiteLLM's list")
    .option('--dry-run', 'only show what would change')
    .option('--force', FORCE)
    .addHelpText('after', FORMATS)
    .action(async (file: string, flags: ImportFlags) => {
      const { importPrices } = await import('./price-commands.ts')
      say(
        await importPrices(wantedOf(flags), file, {
          format: flags.format ?? null,
          rate: flags.rate ?? null,
          factor: flags.factor,
          match: flags.match ?? null,
          make: flags.existing !== true,
          free: flags.free === true,
          dry: flags.dryRun === true,
          force: flags.force === true,
        }),
      )
    })
}
