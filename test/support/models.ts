/** A gateway whose catalogue has more models of some protocols, with what the tests of these protocols ask and look up. */
import OpenAI from 'openai'
import { KEY, type OpenGateway, testCatalog } from './gateway.ts'
import { openGateway } from './open-gateway.ts'

export interface Charged {
  basis: unknown
  input: unknown
  output: unknown
  /** micro-CNY. */
  micro: number
}

export interface ModelsGateway {
  gateway: OpenGateway
  openai: OpenAI
  /** POST of a JSON body to a path of the main address. */
  post(path: string, body: object, key?: string): Promise<Response>
  /** The next row of the account `rich`, once it is there. */
  row(): Promise<Record<string, unknown> | undefined>
  /** What that row charges. */
  charged(): Promise<Charged>
}

/** The upstream knows each model by its name behind `up-`. */
export async function startWithModels(protocols: string[], models: { name: string }[]): Promise<ModelsGateway> {
  const gateway = await openGateway({
    catalog: upstream => {
      const catalog = testCatalog(upstream)
      const names = models.map(({ name }) => [name, `up-${name}`])
      const more = { name: 'more', base_url: upstream, protocols, key: 'up', groups: ['default'] }
      return {
        ...catalog,
        models: [...(catalog['models'] as object[]), ...models],
        channels: [...(catalog['channels'] as object[]), { ...more, models: Object.fromEntries(names) }],
      }
    },
  })
  let rows = 0
  const row = async () => (await gateway.usage('rich', ++rows))[0]
  return {
    gateway,
    openai: new OpenAI({ baseURL: `${gateway.main}/v1`, apiKey: KEY, maxRetries: 0 }),
    post: (path, body, key = KEY) =>
      fetch(gateway.main + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      }),
    row,
    async charged() {
      const { basis, input, output, charge } = (await row()) ?? {}
      return { basis, input, output, micro: Math.round(Number(charge) * 1e6) }
    },
  }
}
