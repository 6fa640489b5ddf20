/** Where the pictures of pages are, and how large one may be. */
import path from 'node:path'

export const SCREENS = path.resolve(import.meta.dirname, '../../../docs/screens')
export const SCREEN_BYTES = 120 * 1024
