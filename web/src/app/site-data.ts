/** What a page knows of the site that it belongs to. */

import { data } from "./words";

export interface SiteData {
  lang: "zh" | "en";
  exercises: number[];
  /** Python can run in the tab. */
  runtime: boolean;
  animations: string[];
  worker: boolean;
  /** False where the site was built for a host without one. */
  judge: boolean;
}

const none: SiteData = { lang: "en", exercises: [], runtime: false, animations: [], worker: false, judge: true };

export const site = data<SiteData>("site-data") ?? none;

/** The folder of the site, wherever a host has put it. */
export const root = new URL(import.meta.url.replace(/assets\/app\/.*$/, ""), location.href).href;

/** The address of a page or file of the site. */
export const at = (path: string): string => root + path;
