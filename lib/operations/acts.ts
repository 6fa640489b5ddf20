/** Who an operation is for. Its edge knows the actor; the operation itself knows its name. */
import type { Act, Actor } from '../terms/people.ts'

export const act = (actor: Actor, operation: string): Act => ({ actor, operation })

/** The words by which statements have always named the admin token and the catalogue file. */
const NAMES: Partial<Record<Actor['kind'], string>> = { token: 'admin', file: 'catalogue' }

/** The actor that an entry names. */
export const entryActor = ({ kind, name }: Actor): string => NAMES[kind] ?? name
