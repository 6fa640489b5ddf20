/** What most dialects have in common: fixed paths, a bearer token, streams of events, and usage as it was counted. */
import type { Dialect, Route } from '../speech.ts'

export const fixedPaths =
  (paths: Readonly<Record<string, Route['action']>>): Dialect['route'] =>
  ({ pathname }) => {
    const action = Object.hasOwn(paths, pathname) ? paths[pathname] : undefined
    return action === undefined ? null : { action, model: null, stream: false, events: false }
  }

export const bearer: Dialect['credential'] = header => /^Bearer (.+)$/i.exec(header('authorization') ?? '')?.[1] ?? null

export const PLAIN: Pick<Dialect, 'credential' | 'keepsWhenAsked' | 'streamsEvents' | 'usage'> = {
  credential: bearer,
  keepsWhenAsked: false,
  streamsEvents: () => true,
  usage: (_ask, _directive, usage) => usage,
}
