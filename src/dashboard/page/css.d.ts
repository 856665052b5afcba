/** Style sheets are imported for their effect only; the bundler puts them into one file. */
declare module "*.css";
